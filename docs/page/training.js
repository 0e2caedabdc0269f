/* Data-parallel training: buckets over backward, and efficiency on more and more ranks. */
const machine = element('machine')

function trainingValues() {
  const value = name => worth(machine[name])
  return [Math.round(value('parameters')), value('bytes'), value('buckets'), value('within'), value('near'),
    value('compute'), value('perhost'), value('between'), value('far')]
}
const costs = () => ask('page_costs', ...trainingValues())

/* A step as two lanes: what a rank computes, and what its links carry. */
function drawLine({forward, backward, exposed, all, buckets, says}) {
  const width = element('line').clientWidth, left = 82, scale = (width - left - 4) / all
  const over = forward + backward, across = seconds => left + seconds * scale
  const label = (x, y, text, anchor, kind = '') =>
    `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`
  const box = (name, from, to, y) => {
    const wide = (to - from) * scale, shown = Math.max(wide - (wide > 3 ? 0.6 : 0), 0.3)
    return `<rect class="${name}" x="${across(from).toFixed(2)}" y="${y}" width="${shown.toFixed(2)}" height="24"/>` +
      (y === 10 && wide > 7 * name.length - 4 ? label(across((from + to) / 2), 26, name, 'middle', 'on') : '')
  }
  const sent = buckets.map(([, begin, end]) => {
    const from = forward + begin, to = forward + end
    return box('send', from, Math.max(from, Math.min(to, over)), 44) +
      (to > over ? box('exposed', Math.max(from, over), to, 44) : '')
  }).join('')
  return `<svg class="chart" width="${width}" height="92" role="img" aria-label="${says}">` +
    label(left - 8, 26, 'computes', 'end') + label(left - 8, 60, 'all-reduces', 'end') +
    box('forward', 0, forward, 10) + box('backward', forward, over, 10) + sent +
    (exposed * scale > 50 ? label(across(over + exposed / 2), 86, 'exposed', 'middle') : '') +
    `<path class="here" d="M${across(over)},4V74"/></svg>`
}

function showLine() {
  const ranks = +machine.on.value
  const [head, helps, ...rows] = ask('page_buckets', ...trainingValues(), ranks).trim().split('\n')
  const [forward, backward, exposed, all] = head.split(',').map(Number), buckets = table(rows.join('\n'))
  const efficiency = (forward + backward) / all
  const busy = buckets.reduce((sum, [, begin, end]) => sum + end - begin, 0), time = seconds => withUnit(seconds, 's')
  const says = `All-reduces take ${time(busy)}, of which ${time(busy - exposed)} are hidden behind backward and ` +
    `${time(exposed)} are exposed; efficiency ${efficiency.toFixed(3)}.` +
    (efficiency < 0.8 ? ` Most would be gained ${helps}.` : '')
  element('line-title').textContent =
    `One step on ${ranks} ranks, ${buckets.length} bucket${buckets.length > 1 ? 's' : ''}`
  element('line-says').textContent = says
  element('line').innerHTML = drawLine({forward, backward, exposed, all, buckets, says})
}

function showCosts() {
  const rows = table(costs()), ms = seconds => (seconds * 1e3).toFixed(2)
  const line = ([ranks, compute, communication, , , event, exposed]) => {
    const efficiency = compute / event
    return `<tr class="${ranks === +machine.on.value ? 'shown' : ''}"><td>${ranks}<td>${ms(communication)}` +
      `<td>${ms(event)}<td>${ms(exposed)}<td>${efficiency.toFixed(3)}<td class="part">` +
      `<i class="${efficiency < 0.8 ? 'low' : ''}" style="width:${100 * efficiency}%"></i>`
  }
  element('costs').innerHTML = '<tr><th>ranks<th>all-reduces, ms<th>step, ms<th>exposed, ms<th>efficiency<td>' +
    rows.map(line).join('')
}
