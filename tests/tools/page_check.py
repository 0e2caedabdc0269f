# SPDX-License-Identifier: MIT
"""Run by page_test: compares the page with ring_steps and ring_model, then uses it as people do."""
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import time

from browser import Browser

build, source, folder, program = sys.argv[1:]
page = f"file://{folder}/ring.html"
failed = 0


def check(holds, promise, *seen):
    global failed
    if not holds:
        failed += 1
        print(f"broken: {promise}", *seen, sep="\n  ")


# ---- the same as in a terminal ----

def printed(collective, ranks):
    """Each step that ring_steps shows: its name and phase, and all numbers in all ranks."""
    plan = json.loads(subprocess.run(
        [f"{build}/tools/ring_steps", "--collective", collective, "-n", ranks, "--json", "/dev/stdout"],
        capture_output=True, text=True, check=True).stdout)
    shown = [step for number, step in enumerate(plan["steps"]) if number == 0 or step["entries"]]
    return " | ".join(step["name"] + (": " + step["phase"] if step["phase"] else "") + " ; " +
                      " ".join(str(value) for row in step["has"] for value in row if value) for step in shown)


def compare(said):
    steps, costs = said.split("\ncosts\n")
    compared = 0
    for line in steps.strip().split("\n"):
        name, ranks, numbers, built, predicted = line.split("\t")
        expected = printed(name, ranks)
        compared += 1
        check(numbers.strip() == expected.strip(), f"{name} on {ranks} ranks is the same in page and ring_steps", numbers, expected)
        check(abs(float(built) - float(predicted)) <= 1e-4 * float(predicted),
              f"the steps of {name} on {ranks} ranks cost what the model says of the call", built, predicted)
    model = f"{build}/tools/ring_model"
    if os.path.exists(model):
        exact = lambda exponent: repr(10 ** exponent)
        csv = subprocess.run(
            [model, "ddp", "--parameters", str(round(10 ** 9.85)), "--element-bytes", "2", "--buckets", "100",
             "--link", f"{exact(10.7)}B/s,{exact(-4.7)}s", "--compute", f"{exact(-0.15)}s", "--ranks-per-host", "8",
             "--between", f"{exact(10.1)}B/s,{exact(-4.7)}s", "--csv", "/dev/stdout"],
            capture_output=True, text=True, check=True).stdout
        expected = [line for line in csv.split("\n") if re.fullmatch(r"\d+(,[\d.e+-]+){6}", line)]
        rows = [",".join("%.9g" % float(value) for value in line.split(",")) for line in costs.strip().split("\n")]
        compared += len(expected)
        check(rows == expected and len(rows) == 10, "the costs are ring_model's", rows, expected)
    print(f"{compared} compared")
    check(compared >= 70, "all collectives are compared")


# ---- used by people ----

chapters = ["ring", "chunks", "bits", "cost", "training", "exercises"]
windows = [(1280, 800, False), (390, 844, True)]


def text(browser, name):
    return browser.ask(f"document.getElementById('{name}').innerText")


def hash_of(browser):
    return browser.ask("location.hash")


def fits(browser):
    """One screen for the ring and its controls; nothing to scroll sideways, for any number of ranks."""
    for width, height, mobile in windows:
        browser.size(width, height, mobile)
        for chapter in chapters:
            browser.open(f"{page}#chapter={chapter}")
            check(browser.ask("document.documentElement.scrollWidth") <= width, f"{chapter} is not wider than {width}")
            check(browser.ask("document.documentElement.scrollHeight") <= height or mobile, f"{chapter} needs no scrolling",
                  browser.ask("document.documentElement.scrollHeight"))
            check(not browser.errors(), f"{chapter} has no error", *browser.errors())
        browser.open(f"{page}#ranks=99")
        check(browser.ask("document.documentElement.scrollHeight") <= height or mobile, "a refusal needs no scrolling")
        for ranks in (1, 4, 8, 12):
            browser.open(f"{page}#ranks={ranks}&step=1")
            seen = browser.ask("""['#view svg.steps', '#slider', '#play', '#choice'].map(name => {
                const box = [...document.querySelectorAll(name)].find(one => one.getClientRects().length).getBoundingClientRect()
                return [box.left, box.top, box.right, box.bottom] })""")
            inside = all(left >= 0 and top >= 0 and right <= width and bottom <= height for left, top, right, bottom in seen)
            check(inside, f"{ranks} ranks and their controls are on one screen of {width} x {height}", seen)
            check(browser.ask("document.documentElement.scrollHeight") <= height or mobile, f"{ranks} ranks need no scrolling")


def keys(browser):
    """The keyboard alone: arrows, Home, End and the space bar wherever the focus is, and a way to every control."""
    browser.open(page)
    for key, step in (("ArrowRight", "0"), ("ArrowRight", "1"), ("End", "5"), ("ArrowLeft", "4"), ("Home", "")):
        browser.press(key)
        check(hash_of(browser) == (f"#step={step}" if step else "#") or (not step and hash_of(browser) == ""),
              f"{key} goes to step {step or 'before'}", hash_of(browser))
    browser.ask("document.querySelector('[name=collective]').focus()")
    browser.press("ArrowRight")
    check(hash_of(browser) == "#step=0", "arrows step from a list, too", hash_of(browser))
    browser.ask("document.activeElement.blur()")
    browser.press(" ")
    check(text(browser, "play") == "pause", "the space bar plays")
    browser.press(" ")
    check(text(browser, "play") == "play", "and pauses")
    at = hash_of(browser)
    time.sleep(1.3)
    check(hash_of(browser) == at, "what is paused stays", at, hash_of(browser))
    browser.ask("document.getElementById('speed').value = 4; document.getElementById('play').focus()")
    browser.press("Enter")
    until = time.monotonic() + 30
    while "step=5" not in hash_of(browser) and time.monotonic() < until:
        time.sleep(0.1)
    check("step=5" in hash_of(browser) and text(browser, "play") == "play", "it plays to the end and stops", hash_of(browser))
    browser.ask("document.querySelector('#decides a').focus()")
    browser.press("Enter")
    check(browser.ask("document.getElementById('source').open && document.querySelector('#code b').textContent").find("p - 1 - step") > 0,
          "Enter opens the lines that decided the step")
    browser.press("Escape")
    check(not browser.ask("document.getElementById('source').open"), "Escape closes them")


def tabs(browser):
    """Tab comes to everything that can be used, in every chapter."""
    for width, height, mobile in windows:
        browser.size(width, height, mobile)
        for chapter in chapters:
            browser.open(f"{page}#chapter={chapter}")
            count = browser.ask("""window.all = [...document.querySelectorAll('a[href], button, select, input, summary')]
                .filter(one => one.getClientRects().length); all.length""")
            for _ in range(count + 2):
                browser.press("Tab")
                browser.ask("window.left = (window.left || new Set(all)); left.delete(document.activeElement); 0")
            missed = browser.ask("[...left].map(one => one.outerHTML.slice(0, 80))")
            check(count > 5 and missed == [], f"Tab reaches all of {chapter}, {width}", *missed)


def decided(browser):
    """Every step of every plan links lines that are there."""
    browser.open(page)
    wrong = browser.ask("""kinds.flatMap(kind => { choice.collective.value = kind
        return ask('page_able', kinds.indexOf(kind), 4).split(' ').flatMap(algorithm => { choice.algorithm.value = algorithm; show()
            return plan.sections.flatMap(section => decisions(kind, algorithm, section).filter(([, text, count]) =>
                !linesOf(fileOf(algorithm), text, count)).map(([, text]) => `${kind} ${algorithm}: ${text}`)) }) })""")
    check(wrong == [], "all lines that decide are found", *wrong)


def costs_agree(browser):
    """The steps of every plan in messages have as many hops and bytes as the model counts for the call."""
    browser.open(page)
    rows = browser.ask("""(() => { links.size.value = 2
        return [2, 3, 4, 5, 8].flatMap(ranks => kinds.flatMap(kind => {
            choice.collective.value = kind
            choice.ranks.value = ranks
            return ask('page_able', kinds.indexOf(kind), ranks).split(' ').flatMap(algorithm => {
                choice.algorithm.value = algorithm
                show()
                if (!carries(algorithm)) return []
                const call = callOf(algorithm), built = costSoFar(stepCosts(), plan.sections.length - 1)
                return [[`${kind} ${ranks} ${algorithm}`, built.hops, call.hops, built.sent, call.sent]] }) })) })()""")
    check(len(rows) > 80, "most plans send", len(rows))
    for name, hops, called, sent, counted in rows:
        rounding = 4 * 8  # 100 bytes are cut into blocks of whole elements here, and not there
        check(hops == called and abs(sent - counted) <= rounding, f"{name} has the hops and bytes of the model", hops, called, sent, counted)


def address(browser):
    """A teacher sends a step; who changes ranks stays there; what cannot be is refused in words."""
    browser.open(f"{page}#collective=all_reduce&ranks=5&step=3")
    check("on 5 ranks" in text(browser, "title") and "step 3: reduce-scatter" in text(browser, "says"), "the address names a step",
          text(browser, "title"), text(browser, "says"))
    choose = lambda name, value: browser.ask(
        f"{{ const c = document.querySelector('[name={name}]'); c.value = '{value}'; c.dispatchEvent(new Event('input', {{bubbles: true}})) }}")
    choose("ranks", 8)
    check("step=3" in hash_of(browser) and "ranks=8" in hash_of(browser), "another number of ranks keeps the step", hash_of(browser))
    choose("ranks", 2)
    check("step=1" in hash_of(browser), "or goes to the last one there is", hash_of(browser))
    browser.open(f"{page}#elements=16&chunk=4&step=10")
    browser.ask("""new Promise(done => { addEventListener('hashchange', () => setTimeout(done), {once: true})
        document.querySelector('[data-chapter=bits]').click() })""")
    check("step=5" in hash_of(browser) and text(browser, "refused") == "", "a chapter with fewer steps shows its last one",
          hash_of(browser), text(browser, "refused"))
    check(browser.ask("document.title") == "step 5: all-gather of all_reduce on 4 ranks", "the title names the step")
    for wrong, said in (("ranks=99", "ranks in the address cannot be 99"), ("foo=1", "foo, which is nothing"),
                        ("step=77", "there is no step 77 here: steps are 0 to 5"), ("chapter=none", "there is no chapter none"),
                        ("collective=x", "collective in the address cannot be x"), ("elements=-5", "elements wants a whole number from 1"),
                        ("chunk=2", "chunk, bytes wants a whole number from 4"), ("collective=broadcast&root=9", "root wants a whole number from 0 to 3"),
                        ("algorithm=pair", "pair cannot carry all_reduce on 4 ranks"),
                        ("algorithm=bruck&elements=100", "at most 28 elements"),
                        ("chapter=chunks&depth=0", "slots of a link wants a whole number from 1"),
                        ("elements=4096&chunk=4&ranks=12", "too much to be shown"), ("chapter=bits&inputs=1%20x", '"x" is none')):
        browser.open(f"{page}#{wrong}")
        check(said in text(browser, "refused") and browser.ask("!document.getElementById('refused').hidden"),
              f"{wrong} is refused in words", text(browser, "refused"))
        check(not browser.errors(), f"{wrong} makes no error", *browser.errors())
    for good in ("", "collective=gather&step=0", "collective=broadcast&step=signals2", "chapter=chunks&elements=16&chunk=4&step=5", "chapter=cost&against=ranks"):
        browser.open(f"{page}#{good}")
        check(text(browser, "refused") == "" and hash_of(browser).strip("#") == good, f"#{good} is taken", text(browser, "refused"), hash_of(browser))


def quiz(browser):
    """It asks what a rank sends, and shows the step once that is answered."""
    browser.open(f"{page}#ranks=5&step=2&ask=first")
    browser.press("ArrowRight")
    check("what will rank 4 send?" in text(browser, "says") and "step=2" in hash_of(browser), "it asks before step 3", text(browser, "says"))
    answers = browser.ask("[...document.querySelectorAll('#says button')].map(one => one.textContent)")
    check(len(answers) == 3 and "a1+a2+a3+a4" in answers, "the right answer is among three", answers)
    for answer in sorted(answers, key=lambda one: one == "a1+a2+a3+a4"):
        browser.ask(f"[...document.querySelectorAll('#says button')].find(one => one.textContent === '{answer}').click()")
        right = answer == "a1+a2+a3+a4"
        check(("Right." in text(browser, "says")) == right and ("step=3" in hash_of(browser)) == right, f"{answer} is told", text(browser, "says"))
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    check("step=4" in hash_of(browser), "who goes on without an answer sees the step", hash_of(browser))


def of_ring_steps(browser):
    """The page that ring_steps writes steps by arrows, plays and pauses."""
    subprocess.run([f"{build}/tools/ring_steps", "-n", "4", "--html", f"{folder}/steps.html"], check=True)
    browser.open(f"file://{folder}/steps.html")
    browser.press("ArrowRight")
    check(text(browser, "said") == "step 0", "an arrow goes on", text(browser, "said"))
    click = lambda: browser.ask("document.getElementById('play').click()")
    click()
    check(text(browser, "play") == "pause", "it plays")
    click()
    at = text(browser, "said")
    time.sleep(1.4)
    check(text(browser, "play") == "play" and text(browser, "said") == at, "and pauses", text(browser, "said"))


def media(browser):
    browser.open(page)
    light = browser.ask("getComputedStyle(document.body).backgroundColor")
    browser.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    check(browser.ask("getComputedStyle(document.body).backgroundColor") != light, "it is dark where that is wanted")
    browser.press("End")
    moving = browser.ask("document.getAnimations().length")
    check(moving == 0, "nothing moves by itself where that is wanted", moving)
    browser.media("print", prefers_color_scheme="dark")
    drawn = browser.ask("[getComputedStyle(document.querySelector('.steps .box')).fill, document.getAnimations().length]")
    check(drawn == ["rgb(255, 255, 255)", 0], "boxes are printed white, and what is sent as well, not as it begins to appear", drawn)
    shown = browser.ask("[...document.querySelectorAll('#view section')].filter(one => one.getClientRects().length).length")
    check(shown == 7, "all steps are printed", shown)
    browser.media()


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def bfloat16(x):
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return struct.unpack("f", struct.pack("I", (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000))[0]


def bits(browser):
    """Sums are those of the order of additions, rounded after each."""
    for number, rounded in ((7, float32), (9, bfloat16)):
        values = [0.1, 0.2, 0.3, 0.4, 7.7]
        browser.open(f"{page}#chapter=bits&ranks=5&type={number}&inputs={'%20'.join(map(str, values))}")
        seen = browser.ask("[...document.querySelectorAll('#bits tr')].slice(1, 6).map(row => row.cells[2].textContent)")
        expected = []
        for piece in range(5):
            order = [rounded(values[(piece + 1 + k) % 5]) for k in range(5)]
            total = order[0]
            for term in order[1:]:
                total = rounded(float32(total + term))
            expected.append("%.9g" % total)
        check(seen == expected, f"sums of type {number} are rounded in the order of the ring", seen, expected)


def teaches(browser):
    """What the lesson and the exercises say is there."""
    browser.open(page)
    check(browser.ask("[...document.querySelectorAll('#phases span')].map(part => part.textContent).join()") ==
          ",reduce-scatter,all-gather", "both halves are marked")
    browser.press("End")
    built = text(browser, "built-table")
    check(re.search(r"so far\s+6\s+1.5 MB\s+1.62 ms", built) and re.search(r"whole, oneshot\s+1\s+3 MB\s+3.02 ms", built), "the cost has built up", built)
    browser.open(f"{page}#chapter=cost&ranks=8")
    lines = browser.ask("[...document.querySelectorAll('#chart path[class]')].map(one => one.getAttribute('class')).sort().join()")
    check(all(name in lines for name in ("ring", "tree", "oneshot")), "one chart has ring, tree and one shot", lines)
    check("oneshot up to 32.8 KB, then ring" in text(browser, "fastest"), "and says which is fastest", text(browser, "fastest"))
    browser.open(f"{page}#chapter=bits&ranks=4")
    sums = browser.ask("[...document.querySelectorAll('#bits tr')].slice(1).map(row => [...row.cells].slice(1, 4).map(cell => cell.textContent))")
    check(sums[:4] == [["a1+a2+a3+a0", "0", "00000000"], ["b2+b3+b0+b1", "1", "3f800000"], ["c3+c0+c1+c2", "0", "00000000"],
                       ["d0+d1+d2+d3", "1", "3f800000"]], "the bits are those of the order of additions", sums)
    browser.open(f"{page}#chapter=training&on=16")
    check("1.7 s are exposed; efficiency 0.294. Most would be gained if links between hosts were as those within" in text(browser, "line-says"), "a step's exposed rest is told", text(browser, "line-says"))
    check(browser.ask("document.querySelectorAll('#line .send').length") == 100, "every bucket is drawn")
    lesson = open(f"{source}/docs/TEACHING.md").read()
    targets = re.findall(r"`(?:ring\.html)?(#[^`]+)`", lesson)
    check(len(targets) > 15, "the lesson shows the page", targets)
    browser.open(f"{page}#chapter=exercises")
    answered = browser.ask("[...document.querySelectorAll('#exercises li a')].map(link => link.getAttribute('href'))")
    check(len(answered) == 5 and browser.ask("document.querySelectorAll('#exercises details').length") == 5, "five exercises have answers")
    for target in targets + answered:
        browser.open(page + target)
        check(text(browser, "refused") == "" and not browser.errors(), f"{target} is shown", text(browser, "refused"))


def accessible(browser):
    """axe-core, where it can be had: AXE names axe.min.js, or PyPI's axe-playwright-python is installed."""
    found = importlib.util.find_spec("axe_playwright_python")
    path = os.environ.get("AXE") or (found and os.path.join(os.path.dirname(found.origin), "axe.min.js"))
    if not path:
        return print("axe-core: skipped, needs axe-playwright-python of PyPI, or AXE=axe.min.js")
    axe, runs = open(path).read(), 0
    for width, height, mobile in windows:
        browser.size(width, height, mobile)
        for scheme in ("light", "dark"):
            browser.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            for state in chapters + ["ring&step=3", "ring&ranks=99"]:
                browser.open(f"{page}#chapter={state}")
                browser.ask(axe + "; document.querySelectorAll('details').forEach(one => one.open = true)")
                if state.endswith("step=3"):
                    browser.ask("document.querySelector('#decides a').click()")
                found = browser.ask("axe.run().then(all => all.violations.map(one => one.id + ': ' + one.nodes.map(node => node.html).join(' ')))")
                runs += 1
                check(found == [], f"axe-core finds nothing in {state}, {scheme}, {width}", *found)
    browser.media()
    print(f"axe-core: {runs} runs")


def without_wasm(browser):
    off = browser.say("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.WebAssembly")["identifier"]
    browser.open(page)
    check("needs WebAssembly" in text(browser, "off") and browser.ask("document.getElementById('main').hidden"),
          "it says that WebAssembly is off", text(browser, "off"))
    browser.say("Page.removeScriptToEvaluateOnNewDocument", identifier=off)


def main():
    try:
        browser = Browser(program, folder)
    except (EOFError, TimeoutError):
        print(open(f"{folder}/browser.log").read()[-2000:])
        print("Chromium does not run here")
        sys.exit(77)
    try:
        browser.size(1280, 800)
        browser.open(f"{page}#all")
        compare(browser.ask("document.getElementById('said-all').textContent"))
        for part in (fits, keys, tabs, decided, costs_agree, address, quiz, of_ring_steps, media, bits, teaches, accessible, without_wasm):
            if part is not fits:
                browser.size(1280, 800)
            part(browser)
    finally:
        browser.close()
    print(f"{failed} broken")
    sys.exit(failed > 0)


main()
