/* The ring: a plan of the library, one step at a time. */
const choice = element('choice'), view = element('view'), slider = element('slider'), links = element('links')
const rankChoices = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const plan = {kind: '', algorithm: '', ranks: 4, sections: [], tables: [], at: 0}
let kinds = [], algorithms = [], timer = 0

/* Fills the lists of the form. A chapter of its own shows the all_reduce around the ring. */
function listChoices() {
  [kinds, algorithms] = ask('page_names').split('\n').map(line => line.split(' '))
  kinds.forEach(name => choice.collective.add(new Option(name)))
  rankChoices.forEach(count => choice.ranks.add(new Option(count, count, count === 4, count === 4)))
  choice.algorithm.add(new Option('default', ''))
  algorithms.forEach(name => choice.algorithm.add(new Option(name)))
}

const ringAlone = () => chapter === 'chunks' || chapter === 'bits'
const kindChosen = () => ringAlone() ? 'all_reduce' : choice.collective.value

/* The algorithm that is shown; those that cannot carry the collective are grey. */
function algorithmChosen() {
  const able = ask('page_able', kinds.indexOf(kindChosen()), +choice.ranks.value).split(' ')
  for (const option of choice.algorithm.options)
    option.disabled = option.value !== '' && !able.includes(option.value)
  choice.algorithm.options[0].textContent = `${able[0]} (default)`
  const wanted = choice.algorithm.value
  if (!ringAlone() && wanted && !able.includes(wanted)) {
    choice.algorithm.value = ''
    refuse(`${wanted} cannot carry ${kindChosen()} on ${choice.ranks.value} ranks: this is ${able[0]}`)
  }
  return ringAlone() ? 'ring' : choice.algorithm.value || able[0]
}

function refuse(sentence) {
  element('refused').textContent += (element('refused').textContent ? '; ' : '') + sentence
}

/* ---- a plan ---- */

const keyOf = (section, i, sections) => section.dataset.number ?? (i === 0 ? '' :
  `signals${sections.slice(1, i + 1).filter(other => other.dataset.number === undefined).length}`)

function askPlan() {
  const ranks = +choice.ranks.value, chunked = chapter !== 'bits', chunks = chapter === 'chunks' /* two rounds of two */
  choice.elements.placeholder = chunks ? 4 * ranks : 'one a rank'
  choice.chunk.placeholder = chunks ? 4 : 'whole blocks'
  const elements = chunked ? wholeNumber(choice.elements, 1, 4096, chunks ? 4 * ranks : 0) : 0
  const chunk = chunked ? wholeNumber(choice.chunk, 4, 65536, chunks ? 4 : 0) : 0
  const depth = chunks ? wholeNumber(choice.depth, 1, 64, 4) : 4
  const root = chapter === 'ring' ? wholeNumber(choice.root, 0, ranks - 1, 0) : 0
  return ask('page_steps', kinds.indexOf(plan.kind), algorithms.indexOf(plan.algorithm), ranks, root, elements, chunk,
    depth, view.clientWidth, view.clientHeight)
}

/* Shows the plan that is chosen, at the step that was shown, if it has one. */
function showPlan() {
  plan.ranks = +choice.ranks.value
  plan.kind = kindChosen()
  plan.algorithm = algorithmChosen()
  plan.sections = []
  let made
  try { made = askPlan() } catch (sentence) { return showRefusal(String(sentence)) }
  view.innerHTML = made
  const refused = view.querySelector('.refused')
  if (refused) return showRefusal(refused.textContent)
  for (const name of ['title', 'how', 'names']) {
    const words = view.querySelector(`.${name}`)
    element(name).textContent = words.textContent
    words.remove()
  }
  plan.sections = [...view.querySelectorAll('section')]
  plan.tables = plan.sections.map(section => { const rows = section.querySelector('table'); rows?.remove(); return rows })
  plan.keys = plan.sections.map(keyOf)
  for (const [i, section] of plan.sections.entries()) {
    const picture = section.querySelector('svg')
    picture.setAttribute('role', 'img')
    picture.setAttribute('aria-label', `${nameOf(i)}. ${section.dataset.says}`)
  }
  slider.max = plan.sections.length - 1
  markPhases()
  findStep()
}

function showRefusal(sentence) {
  pause()
  view.replaceChildren()
  for (const id of ['title', 'says', 'phases', 'who']) element(id).replaceChildren()
  slider.max = 0
  refuse(sentence)
}

/* The step of the address; if the plan has fewer, its last one. */
function findStep() {
  let at = plan.keys.indexOf(step)
  if (at < 0) {
    at = /^\d+$/.test(step) ? plan.sections.length - 1 : 0
    if (!stepIsKept) refuse(`there is no step ${step} here: steps are 0 to ${plan.keys[plan.keys.length - 1] || 0}`)
  }
  stepIsKept = true
  showStep(at)
}
let stepIsKept = false /* false: the address names it, and its sender may be wrong */

/* ---- a step ---- */

function nameOf(i) {
  const {name, phase} = plan.sections[i].dataset
  return phase ? `${name}: ${phase}` : name
}

const phaseClass = {'reduce-scatter': 'grow', reduce: 'grow', 'all-gather': 'full', broadcast: 'full', '': ''}

/* Marks the phases over the slider: one part for steps that have the same. */
function markPhases() {
  const parts = []
  for (const [i, section] of plan.sections.entries()) {
    const name = i === 0 ? '' : section.dataset.phase || (section.dataset.number === undefined ? 'signals' : '')
    if (parts.length && parts[parts.length - 1].name === name) parts[parts.length - 1].count++
    else parts.push({name, from: i, count: 1})
  }
  element('phases').replaceChildren(...parts.map(({name, from, count}) => {
    const part = document.createElement('span')
    part.style.flexGrow = count
    part.className = phaseClass[name] ?? (name.includes(' and ') ? 'both' : '')
    part.textContent = part.className === 'both' ? 'both' : name
    part.title = name
    Object.assign(part.dataset, {from, to: from + count})
    return part
  }))
}

function showStep(i) {
  if (!plan.sections.length) return
  plan.at = i = Math.max(0, Math.min(plan.sections.length - 1, i))
  plan.sections.forEach((section, other) => section.hidden = other !== i)
  for (const part of element('phases').children)
    part.classList.toggle('here', i >= part.dataset.from && i < part.dataset.to)
  slider.value = i
  slider.setAttribute('aria-valuetext', nameOf(i))
  const heading = document.createElement('h2')
  heading.textContent = nameOf(i)
  const legend = i === 0 && chapter === 'ring' ? ` ${element('how').textContent} ${element('names').textContent}` : ''
  element('says').replaceChildren(heading, ` ${plan.sections[i].dataset.says}${legend}`, showDecisions(plan.kind, plan.algorithm, plan.sections[i]))
  element('letters').hidden = legend !== '' || chapter !== 'ring'
  element('who').replaceChildren(...plan.tables[i] ? [plan.tables[i]] : ['Nothing.'])
  asked = 0
  document.title = `${nameOf(i)} of ${plan.kind} on ${plan.ranks} ranks`
  step = plan.keys[i]
  showBuilt()
  writeAddress()
}

/* ---- playing ---- */

const move = by => { pause(); if (by !== 1 || !asksFirst(plan.at + 1)) showStep(plan.at + by) }

function pause() {
  element('says').setAttribute('aria-live', 'polite')
  clearInterval(timer)
  timer = 0
  element('play').textContent = 'play'
}

function play() {
  if (timer) return pause()
  if (plan.at === plan.sections.length - 1) showStep(0)
  element('play').textContent = 'pause'
  element('says').setAttribute('aria-live', 'off') /* nobody listens so fast */
  timer = setInterval(() => {
    showStep(plan.at + 1)
    if (plan.at >= plan.sections.length - 1) pause()
  }, 1000 / element('speed').value)
}

/* Arrows and the space bar work wherever the focus is, but in what needs them itself. */
function key(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || element('stage').hidden || element('source').open) return
  const at = event.target, moves = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key]
  if (moves !== undefined && !(at.tagName === 'INPUT' && at !== slider)) move(moves)
  else if (event.key === ' ' && !at.closest('button, select, summary, input:not([type=range])')) play()
  else return
  event.preventDefault()
}

function startRing() {
  slider.oninput = () => { pause(); showStep(+slider.value) }
  element('first').onclick = () => move(-Infinity)
  element('back').onclick = () => move(-1)
  element('forth').onclick = () => move(1)
  element('play').onclick = play
  element('speed').onchange = () => { if (timer) { pause(); play() } writeAddress() }
  document.addEventListener('keydown', key)
  /* After a click the space bar is the page's again, not the button's. */
  document.addEventListener('click', event => { if (event.detail > 0) event.target.closest('.bar button')?.blur() })
}
