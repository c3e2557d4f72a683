#!/usr/bin/python3
"""browser.py PAGE PICTURE: opens a report in headless Chromium, steps through it, and prints what it
shows, one NAME=VALUE a line; PICTURE becomes what it looks like (PNG). Exits with 77 where Chromium
does not start.

SPDX-License-Identifier: BSD-2-Clause
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time


class Browser:
    """Chromium's DevTools protocol over two pipes: messages that end in a zero byte."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.from_, to_write = os.pipe()
        os.set_inheritable(to_read, True)
        os.set_inheritable(to_write, True)
        # The program reads from file descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', program, "--headless",
             "--no-sandbox", "--disable-gpu", "--mute-audio", "--autoplay-policy=no-user-gesture-required",
             "--hide-scrollbars", "--window-size=1200,1100", "--remote-debugging-pipe",
             f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.noted = b"", 0, None, []

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.from_], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError
            data = os.read(self.from_, 1 << 20)
            if not data:
                raise EOFError
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, seconds=60, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive(seconds)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]
            self.noted.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def close(self):
        self.process.terminate()
        self.process.wait(20)


# How bright the picture is and how much of it differs from its mean: a video that plays is neither.
SPREAD = """(() => {
  const c = document.createElement('canvas'); c.width = 64; c.height = 36;
  const pen = c.getContext('2d'); pen.drawImage(video, 0, 0, 64, 36);
  const d = pen.getImageData(0, 0, 64, 36).data; let least = 255, most = 0;
  for (let i = 0; i < d.length; i += 4) { least = Math.min(least, d[i + 1]); most = Math.max(most, d[i + 1]); }
  return most - least; })()"""
# How many pixels of a canvas are painted.
PAINTED = """[...document.querySelectorAll('canvas')].map(c => {
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;
  for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
  return n; }).join(' ')"""


def shows(browser, frame):
    return browser.wait(f"document.body.dataset.shown == '{frame}' && !video.seeking")


def inspect(browser, page, picture):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Runtime", "Page", "Network", "Log"):
        browser.call(domain + ".enable")
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    print("loaded=%d" % browser.wait("typeof video != 'undefined' && video.readyState >= 2"))
    print("frames=%d" % browser.evaluate("frames.length"))
    print("size=" + browser.evaluate("video.videoWidth + 'x' + video.videoHeight"))
    first = browser.evaluate("frames[0][0]")
    print("first=%d" % shows(browser, first))
    stepped = 0
    for _ in range(5):
        browser.evaluate("document.getElementById('next').click()")
        first += 1
        stepped += shows(browser, first)
    browser.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}))")
    print("stepped=%d back=%d" % (stepped, shows(browser, first - 1)))
    print("label=" + browser.evaluate("document.querySelector('output').textContent"))
    print("spread=%d" % browser.evaluate(SPREAD))
    print("painted=" + browser.evaluate(PAINTED))
    print("heading=" + browser.evaluate("document.querySelector('h1').textContent"))
    print("command=" + browser.evaluate("document.querySelector('pre').textContent"))
    shot = browser.call("Page.captureScreenshot", format="png")
    with open(picture, "wb") as file:
        file.write(base64.b64decode(shot["data"]))
    browser.evaluate("go(0); video.playbackRate = 2; video.play().then(() => 1)")
    print("plays=%d" % browser.wait("current >= 3 && video.currentTime > 0.05"))
    browser.evaluate("video.pause()")
    browser.evaluate("1")
    requests = [n["params"]["request"]["url"] for n in browser.noted
                if n.get("method") == "Network.requestWillBeSent"]
    print("network=%d" % sum(not url.startswith(("file:", "data:", "blob:", "about:")) for url in requests))
    print("errors=%d" % sum(n.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
                            for n in browser.noted))


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            browser.call("Browser.getVersion", seconds=90)
        except (TimeoutError, EOFError, OSError):
            browser.close()
            sys.exit(77)
        try:
            inspect(browser, sys.argv[1], sys.argv[2])
        finally:
            browser.close()


main()
