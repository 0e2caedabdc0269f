/* The library, compiled to WebAssembly; its functions answer with texts. */
const element = id => document.getElementById(id)
let library = null

function load() {
  const code = Uint8Array.from(atob('@WASM@'), letter => letter.charCodeAt(0))
  const nothing = {wasi_snapshot_preview1: new Proxy({}, {get: () => () => 8})}
  library = new WebAssembly.Instance(new WebAssembly.Module(code), nothing).exports
  library._initialize()
}

/* Lends the library a text; the caller frees it. */
function lend(text) {
  const bytes = new TextEncoder().encode(text + '\0'), at = library.page_room(bytes.length)
  new Uint8Array(library.memory.buffer).set(bytes, at)
  return at
}

/* Calls a function of the library. Returns the text that it makes. */
function ask(name, ...values) {
  const at = library[name](...values), bytes = new Uint8Array(library.memory.buffer)
  if (!at) return '<p class="refused">out of memory'
  const text = new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)))
  library.page_free(at)
  return text
}

/* Lines of numbers; NaN where there is none. */
const table = text => text.trim().split('\n').filter(line => line)
  .map(line => line.split(',').map(word => word === '' ? NaN : Number(word)))

function withUnit(value, unit) {
  const steps = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'K'], [1, ''], [1e-3, 'm'], [1e-6, 'u'], [1e-9, 'n']]
  const [scale, letter] = value === 0 ? [1, ''] : steps.find(([least]) => value >= least * 0.9995) || [1e-9, 'n']
  const digits = value / scale >= 999.5 ? 4 : 3
  return `${+(value / scale).toPrecision(digits)} ${letter}${unit}`
}
