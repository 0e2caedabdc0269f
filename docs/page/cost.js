/* What a call costs: how it builds up step by step, and all algorithms on one chart. */
const compared = ['ring', 'tree', 'oneshot']
const worth = input => 'log' in input.dataset ? 10 ** input.value : +input.value

const link = () => ({
  size: plan.kind === 'barrier' ? 0 : Math.round(worth(links.size)),
  bandwidth: worth(links.bandwidth),
  latency: worth(links.latency),
})

function showOutputs(form) {
  for (const input of form.querySelectorAll('input[type=range]')) {
    const text = 'log' in input.dataset ? withUnit(worth(input), input.dataset.unit) : input.value
    input.previousElementSibling.value = text
    input.setAttribute('aria-valuetext', text)
  }
}

/* Hops, bytes of the busiest rank, seconds, by the library's model, if the algorithm carries the call. */
function callOf(algorithm) {
  const {size, bandwidth, latency} = link(), kind = kinds.indexOf(plan.kind)
  const [hops, sent, seconds] =
    table(ask('page_call', kind, algorithms.indexOf(algorithm), plan.ranks, size, bandwidth, latency))[0]
  return {hops, sent, seconds}
}

/* What each step that is shown takes, from what moves in it. */
function stepCosts() {
  const {size, bandwidth, latency} = link()
  return plan.sections.slice(1).map(section => ({hop: latency, wire: section.dataset.share * size / bandwidth}))
}

/* What has been paid after so many steps. Around a ring they add up to the model's time; where ranks do not work alike,
   the same rank is not the busiest one in every step, so the sum is more, and steps get their shares of the model's
   time. */
function costSoFar(steps, done) {
  const time = some => some.reduce((sum, {hop, wire}) => sum + hop + wire, 0)
  const {seconds} = callOf(plan.algorithm), all = time(steps), paid = time(steps.slice(0, done))
  return {
    hops: done,
    sent: Math.round(plan.sections[done].dataset.sent * link().size),
    seconds: carries(plan.algorithm) && all > 0 ? seconds * paid / all : paid,
  }
}

function row(cells, kind = 'td', shown = '') {
  const name = cells[0] ? `<th>${cells[0]}</th>` : '<td></td>'
  const others = cells.slice(1).map(cell => `<${kind} class="right">${cell}</${kind}>`)
  return `<tr class="${shown}">${name}${others.join('')}</tr>`
}

/* Algorithms that have a plan of this call: the one that is shown first. */
function rivals() {
  const able = ask('page_able', kinds.indexOf(plan.kind), plan.ranks).split(' ')
  return [plan.algorithm, ...compared.filter(name => name !== plan.algorithm && able.includes(name))]
}

const sends = algorithm => !['staged', 'direct'].includes(algorithm)

/* Whether the library has a plan for so many bytes, in messages: of some algorithms for small calls only. */
function carries(algorithm) {
  if (!sends(algorithm)) return false
  const {size, bandwidth, latency} = link()
  const times = table(ask('page_sizes', kinds.indexOf(plan.kind), plan.ranks, bandwidth, latency))
  const nearest = times.reduce((best, line) => line[0] <= size ? line : best, times[0])
  return !Number.isNaN(nearest[1 + algorithms.indexOf(algorithm)])
}

/* A bar for each step: its hop, then its bytes. */
function drawBuilt(steps, done) {
  element('built').innerHTML = steps.map(({hop, wire}, i) =>
    `<span class="${i < done ? 'done' : ''}" style="flex:${(hop + wire) * 1e9}">` +
    `<i class="hop" style="flex:${hop / (hop + wire)}"></i>` +
    `<i class="wire" style="flex:${wire / (hop + wire)}"></i></span>`).join('')
}

function showBuilt() {
  if (element('built').hidden && chapter !== 'cost') return
  const steps = stepCosts(), done = chapter === 'cost' ? steps.length : plan.at
  const say = ({hops, sent, seconds}) => [hops, withUnit(sent, 'B'), withUnit(seconds, 's')]
  const heads = ['', '<span class="swatch hop"></span> hops', '<span class="swatch wire"></span> a rank sends', 'time']
  drawBuilt(steps, done)
  element('built-table').innerHTML = '<table>' + row(heads, 'th') +
    (chapter === 'ring' ? row(['so far', ...say(costSoFar(steps, done))], 'td', 'shown') : '') +
    (plan.ranks > 1 ? rivals().filter(carries).map(name => row([`whole, ${name}`, ...say(callOf(name))])).join('') : '') +
    '</table>'
}

/* ---- the chart ---- */

/* "oneshot up to 32.8 KB, then ring" */
function fastestOf(lines, xs, say) {
  const time = (points, x) => points.find(point => point[0] === x)?.[1] ?? Infinity
  const best = xs.map(x => lines.reduce((a, b) => time(b.points, x) < time(a.points, x) ? b : a).name)
  const runs = best.map((name, i) => [name, xs[i]]).filter(([name], i) => best[i + 1] !== name)
  const said = runs.map(([name, x], i) => i === runs.length - 1 ? name : `${name} up to ${say(x)}`)
  return `Of these, fastest: ${said.join(', then ')}.`
}

/* The times of all algorithms that send, those that are compared first. */
function timesOf(rows) {
  return algorithms
    .map((name, i) => ({name, points: rows.map(row => [row[0], row[i + 1]]).filter(point => !Number.isNaN(point[1]))}))
    .filter(({name, points}) => points.length > 0 && sends(name))
    .sort((a, b) => compared.includes(b.name) - compared.includes(a.name))
}

function showChart() {
  const {size, bandwidth, latency} = link(), kind = kinds.indexOf(plan.kind)
  const bySize = links.against.value === 'size'
  const rows = table(bySize ? ask('page_sizes', kind, plan.ranks, bandwidth, latency)
    : ask('page_ranks', kind, size, bandwidth, latency))
  const xs = rows.map(line => line[0]), lines = timesOf(rows)
  const say = x => bySize ? withUnit(x, 'B') : `${x} ranks`
  const of = bySize ? `on ${plan.ranks} ranks: time against the vector's size`
    : `of ${withUnit(size, 'B')}: time against the number of ranks`
  const rest = lines.filter(({name}) => compared.includes(name)), width = element('chart').clientWidth
  element('chart-title').textContent = `${plan.kind} ${of}`
  element('fastest').textContent = rest.length ? fastestOf(rest, xs, say) : ''
  element('chart').innerHTML = lines.length === 0 ? '' : drawChart(lines, {
    unit: bySize ? 'B' : 'ranks', xs: bySize ? null : xs, here: bySize ? size : plan.ranks, width,
    height: Math.min(500, innerHeight - 260, width * 0.9),
    says: `${plan.kind} ${of}. ${element('fastest').textContent}`})
}

/* ---- chunks ---- */

function showChunks() {
  const {size, bandwidth, latency} = link()
  const points = table(ask('page_chunks', plan.ranks, size, bandwidth, latency))
  if (points.length < 2) return element('chunks-chart').replaceChildren()
  const best = points.reduce((a, b) => b[1] < a[1] ? b : a)
  const says = `An all_reduce of ${withUnit(size, 'B')} on ${plan.ranks} ranks, links of ${withUnit(bandwidth, 'B/s')} ` +
    `and ${withUnit(latency, 's')} (see Cost): fastest in chunks of ${withUnit(best[0], 'B')}. Smaller ones are more ` +
    'messages; larger ones leave the link idle while they are added. Both take the times that the library measured.'
  element('chunks-chart').innerHTML = drawChart([{name: 'ring', points}], {
    unit: 'B', here: best[0], says, width: element('chunks-chart').clientWidth, height: 150})
  element('chunks-says').textContent = says
}
