/* The bits of sums: the ring's order of additions, and what it makes of inputs. */
const inputs = element('inputs')

function showBits() {
  const wanted = plan.ranks, numbers = inputs.inputs.value.trim().split(/[\s,;]+/).filter(word => word)
  const wrong = numbers.find(word => word === '' || Number.isNaN(Number(word)))
  inputs.inputs.setAttribute('aria-invalid', wrong !== undefined || numbers.length === 0)
  if (wrong !== undefined) return refuse(`inputs wants numbers, and "${wrong}" is none`)
  if (numbers.length === 0) return refuse('inputs wants at least one number')
  const at = lend(numbers.join(' '))
  const lines = ask('page_bits', wanted, +inputs.type.value, at).trim().split('\n').map(line => line.split('\t'))
  library.page_free(at)
  const small = inputs.type.value !== '7'
  const cells = ([name, order, sum, bits, once]) => [name, order, sum, bits, ...small ? [once] : []]
  const heads = cells(['piece', 'added as', 'sum', 'bits', 'rounded once'])
  element('bits').innerHTML = `<tr>${heads.map(head => `<th>${head}`).join('')}` +
    lines.map(line => `<tr>${cells(line).map(cell => `<td>${cell}`).join('')}`).join('')
}
