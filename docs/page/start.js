/* Chapters: each shows its parts of the page. */
const shows = {
  ring: showPlan,
  chunks: () => { showPlan(); showChunks() },
  bits: () => { showPlan(); showBits() },
  cost: () => { showPlan(); showBuilt(); showChart() },
  training: () => { showOutputs(machine); showLine(); showCosts() },
  exercises: () => {},
}

function show() {
  element('refused').textContent = ''
  for (const part of document.querySelectorAll('[data-chapters]'))
    part.hidden = !part.dataset.chapters.split(' ').includes(chapter)
  for (const one of document.querySelectorAll('[data-chapter]'))
    one.dataset.chapter === chapter ? one.setAttribute('aria-current', 'page') : one.removeAttribute('aria-current')
  element('main').classList.toggle('wide', chapter === 'exercises')
  document.querySelector('aside').hidden = chapter === 'exercises'
  showOutputs(links)
  shows[chapter]()
  writeAddress()
  if (element('refused').textContent === '') element('refused').hidden = true
}

let byChapter = false /* a link of this page led here */

/* Goes where the address says. */
function follow() {
  const refused = readAddress()
  stepIsKept = byChapter
  byChapter = false
  pause()
  show()
  refused.forEach(refuse)
  element('refused').hidden = element('refused').textContent === ''
}

function change(event) {
  if (event.target === slider || event.target.name === 'speed') return
  show()
}

function start() {
  listChoices()
  document.head.insertAdjacentHTML('afterbegin', ask('page_style'))
  for (const control of controls()) first.set(control, control.value)
  for (const link of document.querySelectorAll('[data-state]')) link.href = '#' + link.dataset.state
  for (const form of document.querySelectorAll('form:not([method])')) form.onsubmit = () => false
  document.addEventListener('input', change)
  window.onhashchange = follow
  document.querySelector('nav').onclick = () => byChapter = true
  let due = 0
  window.onresize = () => { clearTimeout(due); due = setTimeout(() => { show() }, 150) }
  window.onbeforeprint = () => Object.assign(element('letters'), {open: true, hidden: chapter !== 'ring'})
  startRing()
  element('main').hidden = false
  follow()
}

/* For tests: #all prints everything that the page shows for all collectives. */
function printAll() {
  const lines = []
  for (const kind of kinds)
    for (let ranks = 2; ranks <= 8; ranks++) {
      choice.collective.value = kind
      choice.ranks.value = ranks
      show()
      const shown = plan.sections.map((section, i) =>
        `${nameOf(i)} ; ${[...section.querySelectorAll('.number')].map(number => number.textContent).join(' ')}`)
      const built = stepCosts().reduce((sum, one) => sum + one.hop + one.wire, 0)
      lines.push([kind, ranks, shown.join(' | '), built, callOf(plan.algorithm).seconds].join('\t'))
    }
  element('said-all').textContent = lines.join('\n') + '\ncosts\n' + costs()
}

try {
  load()
} catch (why) {
  element('off').hidden = false
  element('off').textContent = `This page needs WebAssembly, which this browser does not run (${why.message || why}): ` +
    'it may be off in its settings. In a terminal ring_steps shows the same rings, and ring_model ddp the cost of training.'
}
if (library) {
  start()
  if (location.hash === '#all') printAll()
}
