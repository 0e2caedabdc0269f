/* Lines on two logarithmic axes, as SVG. */
const chartLeft = 58, chartRight = 76, chartBottom = 28
const ends = numbers => [Math.min(...numbers), Math.max(...numbers)]

/* Powers of ten between two values, at most so many; where they are near, also their multiples. */
function ticks(least, most, count) {
  const begin = 10 ** Math.floor(Math.log10(least)), multiples = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  const fine = multiples.map(times => times * begin).filter(value => value >= least && value <= most)
  if (most < 1000 * begin && fine.length <= count) return fine
  const from = Math.ceil(Math.log10(least) - 1e-9), to = Math.floor(Math.log10(most) + 1e-9)
  const by = Math.max(1, Math.ceil((to - from) / count)), found = []
  for (let power = from; power <= to; power += by) found.push(10 ** power)
  return found
}

/* lines: [{name, points: [[x, y] ..]}], the names of the first ones have the better places. xs: the ticks of the x axis,
   or null; unit: of x; here: an x to be marked; width, height: in pixels */
function drawChart(lines, {unit, xs, here, says, width, height}) {
  const all = lines.flatMap(line => line.points), right = width - chartRight, bottom = height - chartBottom
  const [x0, x1] = ends(all.map(point => point[0])), [y0, y1] = ends(all.map(point => point[1]))
  const across = x => chartLeft + (Math.log(x / x0) / Math.log(x1 / x0 || 2)) * (right - chartLeft)
  const up = y => 8 + (1 - Math.log(y / y0) / Math.log(y1 / y0 || 2)) * (bottom - 8)
  const level = y => `<path class="grid" d="M${chartLeft},${up(y)}H${right}"/>` +
    `<text x="${chartLeft - 6}" y="${up(y) + 4}" text-anchor="end">${withUnit(y, 's')}</text>`
  const column = x => `<path class="grid" d="M${across(x)},8V${bottom}"/><text x="${across(x)}" y="${height - 8}" ` +
    `text-anchor="middle">${unit === 'ranks' ? x : withUnit(x, unit)}</text>`
  const every = Math.ceil(30 * (xs || []).length / (right - chartLeft))
  const marks = xs ? xs.filter((_, i) => i % every === 0) : ticks(x0, x1, (width - 130) / 62)
  const named = []
  const draw = ({name, points}) => {
    const [x, y] = points[points.length - 1], way = points.map(([a, b]) => `${across(a).toFixed(1)},${up(b).toFixed(1)}`)
    const isPassed = lines.some(other => other.points.some(([a, b], i) =>
      a === x && i + 1 < other.points.length && Math.abs(up(b) - up(y)) < 6))
    let at = up(y) + (isPassed ? 18 : 4) /* names do not hide one another, nor lie on a line that goes on */
    while (named.some(([left, top]) => Math.abs(left - across(x)) < 60 && Math.abs(top - at) < 13)) at += 13
    named.push([across(x), at])
    return [`<path class="${name}" d="M${way.join('L')}"/>`,
      `<text class="${name}" x="${across(x) + 5}" y="${at}">${name}</text>`]
  }
  const drawn = lines.map(draw).reverse()
  return `<svg class="chart" width="${width}" height="${height}" role="img" aria-label="${says}">` +
    ticks(y0, y1, 8).map(level).join('') + marks.map(column).join('') +
    (here >= x0 && here <= x1 ? `<path class="here" d="M${across(here)},8V${bottom}"/>` : '') +
    drawn.map(([path]) => path).join('') + drawn.map(([, text]) => text).join('') + '</svg>'
}
