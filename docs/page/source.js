/* Which lines of src/plan decided a step. They are found by their text, so a link cannot point to what has moved. */
const sources = Object.fromEntries([...document.querySelectorAll('[data-source]')]
  .map(script => [script.dataset.source, script.textContent.replace(/^\n/, '').split('\n')]))

/* The header of an algorithm. */
const fileOf = algorithm => `${{oneshot: 'one_shot', twoshot: 'two_shot'}[algorithm] || algorithm}.h`

const blocks = ['all_reduce', 'reduce_scatter', 'all_gather']

/* [what is decided, the text of its first line, how many lines]; 0 lines: a function; no text: the comment that opens the
   file */
function decisions(kind, algorithm, section) {
  const name = fileOf(algorithm).slice(0, -2)
  const whole = which => [which === 'outgoing' ? 'who sends what' : 'what is done with it', `ring_${name}_${which}(`, 0]
  if (section.dataset.number === undefined && section.previousElementSibling?.tagName !== 'SECTION')
    return [['the whole schedule, with its picture', '', 0]]
  if (section.dataset.number === undefined) return [['signals', `ring_${name}_outgoing(`, 0]]
  if (name !== 'ring' || !blocks.includes(kind)) return [whole('outgoing'), whole('incoming')]
  const t = section.dataset.number
  const adds = kind === 'reduce_scatter' || (kind === 'all_reduce' && section.dataset.phase !== 'all-gather')
  const gathers = kind === 'all_gather' || section.dataset.phase.includes('all-gather')
  return [[`rank p sends block p−1−t, t = ${stepOf(kind, t)}`, '(p - 1 - step, n)', 1],
    [`receives p−2−t`, '(p - 2 - step, n)', 1],
    ...adds ? [['adds it to its own', 'if (!own && step < n - 1)', 2]] : [],
    ...gathers ? [['copies it', 'transfer.result = (struct ring_place){RING_OUTPUT, offset};', 1]] : [],
    ['once it has it', 'transfer.needs = plan->signals + at.round', 2]]
}

/* An all-gather alone is the second half: its steps are those from N-1 on. */
const stepOf = (kind, t) => kind === 'all_gather' ? `N−1+${t}` : t

/* The lines that a decision stands on: [first, last], from 1. A function goes to its closing brace, a comment to its
   end. */
function linesOf(file, text, count) {
  const lines = sources[file]
  const begin = text === '' ? lines.indexOf('/*') :
    lines.findIndex(line => line.includes(text) && (count > 0 || line.startsWith('RING_PURE')))
  if (begin < 0) return null
  return [begin + 1, count > 0 ? begin + count : lines.indexOf(text === '' ? ' */' : '}', begin) + 1]
}

function openSource(file, [from, to]) {
  element('source-name').textContent = `src/plan/${file}, line${from < to ? `s ${from} to ${to}` : ` ${from}`}`
  const code = element('code')
  code.replaceChildren(...sources[file].map((text, i) => {
    const line = document.createElement(i + 1 >= from && i + 1 <= to ? 'b' : 'span')
    line.textContent = `${String(i + 1).padStart(6)}  ${text}` + (line.tagName === 'B' ? '' : '\n')
    return line
  }))
  element('source').showModal()
  code.querySelector('b').scrollIntoView({block: to - from > 20 ? 'start' : 'center'})
  code.focus({preventScroll: true})
}

/* Links to the lines that decided the step that is shown. */
function showDecisions(kind, algorithm, section) {
  const file = fileOf(algorithm)
  const links = decisions(kind, algorithm, section).flatMap(([what, text, count]) => {
    const lines = linesOf(file, text, count), link = document.createElement('a')
    if (!lines) return []
    link.href = '#'
    link.textContent = `line ${lines[0]}`
    link.setAttribute('aria-label', `${what}: line ${lines[0]} of ${file}`)
    link.onclick = event => { event.preventDefault(); openSource(file, lines) }
    return [[what, link]]
  })
  const said = document.createElement('p')
  said.id = 'decides'
  links.forEach(([what, link], i) => said.append(i ? ', ' : `src/plan/${file}: `, `${what} (`, link, ')'))
  return said
}
