/* Asks what a rank sends before the step is shown, if that is wanted. */
let asked = 0 /* the step that is asked for; 0: none */

/* What each rank sends in a step, from the table of who does what: "d0", or "" if it sends no data. */
function sentIn(i) {
  const rows = plan.tables[i] ? [...plan.tables[i].rows].slice(1) : []
  return rows.map(row => row.cells[1].innerHTML.split('<br>').filter(line => line.includes('='))
    .map(line => line.split('=')[0]).join(' and '))
}

/* Three different answers, the right one among them; null if there are no three. */
function answersTo(rank, sent) {
  const others = [...new Set(sent)].filter(what => what && what !== sent[rank]).slice(0, 2)
  if (!sent[rank] || others.length < 2) return null
  const at = rank % 3
  return [...others.slice(0, at), sent[rank], ...others.slice(at)]
}

/* Asks for step i. Returns false if it is to be shown at once; so who goes on without an answer sees it. */
function asksFirst(i) {
  if (choice.ask.value === '' || chapter !== 'ring' || asked === i || i >= plan.sections.length) return false
  const sent = sentIn(i), rank = (2 * i + 1) % plan.ranks, answers = answersTo(rank, sent)
  if (!answers) return false
  asked = i
  const heading = document.createElement('h2'), said = document.createElement('p')
  heading.textContent = plan.sections[i].dataset.name
  said.append(heading, `: what will rank ${rank} send?`)
  element('says').replaceChildren(said, ...answers.flatMap(what => {
    const button = document.createElement('button')
    button.textContent = what
    button.onclick = () => what === sent[rank] ? showRight(i) : showWrong(button)
    return [button, ' ']
  }))
  return true
}

function showRight(i) {
  showStep(i)
  element('says').firstChild.before('Right. ')
}

function showWrong(button) {
  button.disabled = true
  button.textContent += ': no'
}
