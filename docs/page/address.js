/* What is chosen stands in the address, so that it can be sent: the chapter, the step, and each control that is not as
   it was in the beginning. What the address has and the page does not is refused in words. */
const controls = () => [...document.querySelectorAll('input[name], select[name]')]
const first = new Map()
let step = '' /* '', a number, or 'signals' and a number */
let chapter = 'ring'
const chapters = [...document.querySelectorAll('[data-chapter]')].map(link => link.dataset.chapter)

function address(changes = {}) {
  const state = {chapter: chapter === 'ring' ? '' : chapter}
  for (const control of controls())
    if (control.value !== first.get(control)) state[control.name] = control.value
  state.step = step
  const pairs = Object.entries({...state, ...changes}).filter(([, value]) => value !== '')
  return '#' + pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
}

function writeAddress() {
  const wanted = address()
  if (location.hash !== wanted && location.hash !== '#all')
    try { history.replaceState(null, '', wanted === '#' ? '#' : wanted) } catch (tooOften) { /* the next one will do */ }
  for (const link of document.querySelectorAll('[data-chapter]'))
    link.href = address({chapter: link.dataset.chapter === 'ring' ? '' : link.dataset.chapter})
}

/* Sets a control, if it takes the value. Returns what is wrong, or ''. */
function setControl(name, value) {
  const control = controls().find(one => one.name === name)
  if (!control) return `the address has ${name}, which is nothing that this page knows`
  const before = control.value
  control.value = value
  if (control.value === value || (control.type === 'range' && value.trim() !== '' && +control.value === +value)) return ''
  control.value = before
  return `${name} in the address cannot be ${value || 'nothing'}`
}

/* Reads the address. Returns sentences about what was refused. */
function readAddress() {
  const refused = [], asked = new URLSearchParams(location.hash.slice(1))
  for (const control of controls()) control.value = first.get(control)
  chapter = 'ring'
  step = ''
  if (location.hash === '#all') return refused
  for (const [name, value] of asked) {
    if (name === 'step') step = value
    else if (name === 'chapter' && chapters.includes(value)) chapter = value
    else if (name === 'chapter') refused.push(`there is no chapter ${value}`)
    else refused.push(setControl(name, value))
  }
  return refused.filter(sentence => sentence)
}

/* A whole number that a field must have; '' is the fallback. Throws a sentence. */
function wholeNumber(control, least, most, fallback) {
  const text = control.value.trim(), name = control.closest('label').firstChild.textContent.trim()
  control.removeAttribute('aria-invalid')
  if (text === '') return fallback
  if (/^\d{1,9}$/.test(text) && +text >= least && +text <= most) return +text
  control.setAttribute('aria-invalid', 'true')
  throw `${name} wants a whole number from ${least} to ${most}, not "${text}"`
}
