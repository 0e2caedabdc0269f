# SPDX-License-Identifier: MIT
"""Drives a headless Chromium over a pipe, by the DevTools protocol: opens a page, presses keys, asks, takes pictures."""
import base64
import json
import os
import select
import subprocess
import time


class Browser:
    def __init__(self, program, folder, *flags, deadline=60):
        self.deadline, self.number, self.events, self.left = deadline, 0, [], b""
        there, here = os.pipe(), os.pipe()
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking", f"--user-data-dir={folder}/profile", *flags]
        shell = f"exec \"$@\" 3<&{there[0]} 4>&{here[1]}"
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *command], pass_fds=(there[0], here[1]),
                                        env={**os.environ, "HOME": folder}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=open(f"{folder}/browser.log", "wb"))
        os.close(there[0])
        os.close(here[1])
        self.out, self.back = there[1], here[0]
        self.session = None
        target = self.say("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.say("Page.enable")
        self.say("Runtime.enable")

    def close(self):
        self.session = None
        try:
            self.say("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()

    def read(self, until):
        while b"\0" not in self.left:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.left += more
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def say(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.deadline
        while True:
            answer = self.read(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def ask(self, script):
        """The value of an expression, also of a promise."""
        result = self.say("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def size(self, width, height, mobile=False):
        self.say("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def media(self, kind="", **features):
        self.say("Emulation.setEmulatedMedia", media=kind,
                 features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def open(self, address):
        """Opens a page and waits until it is loaded."""
        self.events = []
        self.say("Page.navigate", url="about:blank")
        self.say("Page.navigate", url=address)
        until = time.monotonic() + self.deadline
        while self.ask("location.href === 'about:blank' || document.readyState !== 'complete'"):
            if time.monotonic() > until:
                raise TimeoutError(address)
            time.sleep(0.02)

    def errors(self):
        """Exceptions of the page's scripts since it was opened."""
        self.ask("0")
        return [event["params"]["exceptionDetails"].get("exception", {}).get("description", "?") for event in self.events
                if event.get("method") == "Runtime.exceptionThrown"]

    def press(self, key, shift=False):
        code = {"ArrowLeft": 37, "ArrowRight": 39, "ArrowUp": 38, "ArrowDown": 40, "Home": 36, "End": 35, " ": 32, "Tab": 9,
                "Enter": 13, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        both = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.say("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **both, **text)
        self.say("Input.dispatchKeyEvent", type="keyUp", **both)

    def picture(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.say("Page.captureScreenshot", format="png")["data"]))

    def print(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.say("Page.printToPDF", printBackground=True)["data"]))
