#!/usr/bin/env python3
"""Looks at HTML pages as a reader's browser shows them: headless Chromium, at two widths, light and dark.

    page_check.py CHROMIUM PAGE...            each page holds, or what is wrong is said
    page_check.py --shots FOLDER CHROMIUM PAGE...   the same, and leaves pictures

A page must load without an error or a warning in the console, ask for nothing but itself, not be wider than the
window, and be readable: text of drawings at least 9 pixels high, all text in enough contrast. The browser is driven
through its pipe (DevTools protocol), so that no port is needed.
"""
import base64
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time

WIDTHS = (360, 1280)
SCHEMES = ("light", "dark")
DEADLINE = 60  # seconds, for one answer

MEASURE = r"""
(() => {
  const seen = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0; };
  const rgb = c => (c.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; })
    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const backOf = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length && (c.length < 4 || c[3] > 0)) return c; } return [255, 255, 255]; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const poor = [], small = [];
  for (const e of document.body.querySelectorAll('*')) {
    if (!seen(e) || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const s = getComputedStyle(e), svg = e.closest('svg');
    if (svg) {
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      if (parseFloat(s.fontSize) * scale < 9) small.push(e.textContent);
      if (e.style.fill) continue;  // on a cell of its own colour
    }
    const ratio = contrast(rgb(svg ? s.fill : s.color), backOf(svg ? svg : e));
    if (ratio < 4.5) poor.push(e.textContent.slice(0, 40) + ': ' + ratio.toFixed(2));
  }
  return JSON.stringify({width: document.documentElement.scrollWidth, window: innerWidth, poor, small,
    back: light(backOf(document.body)), text: document.body.innerText.length,
    drawings: [...document.querySelectorAll('svg')].filter(seen).length});
})()
"""


class Browser:
    def __init__(self, program, folder):
        to_read, self.out = os.pipe()
        self.back, to_write = os.pipe()

        def pipes():  # the browser reads from 3 and writes to 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.events = b"", 0, []

    def message(self):
        end = time.monotonic() + DEADLINE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            part = os.read(self.back, 1 << 16) if ready else b""
            if not part:
                raise SystemExit("the browser does not answer")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.number += 1
        ask = {"id": self.number, "method": method, "params": params}
        if session:
            ask["sessionId"] = session
        os.write(self.out, json.dumps(ask).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message())

    def close(self):
        os.close(self.out)
        os.close(self.back)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def complaints(events):
    for e in events:
        method, p = e.get("method"), e.get("params", {})
        if method == "Runtime.exceptionThrown":
            yield "a script failed: " + p["exceptionDetails"]["text"]
        elif method == "Runtime.consoleAPICalled":
            yield "the console says: " + str([a.get("value") for a in p["args"]])
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            yield "the console says: " + p["entry"]["text"]
        elif method == "Network.requestWillBeSent" and p["request"]["url"] != p["documentURL"]:
            yield "it asks for " + p["request"]["url"]


def look(browser, page, width, scheme, shots):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(domain + ".enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=900, deviceScaleFactor=1,
                 mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", session, features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.events.clear()
    browser.call("Page.navigate", session, url=page.resolve().as_uri())
    browser.wait("Page.loadEventFired")
    found = json.loads(browser.call("Runtime.evaluate", session, expression=MEASURE)["result"]["value"])
    bad = list(complaints(browser.events))
    if found["width"] > found["window"]:
        bad.append(f"it is {found['width']} pixels wide")
    bad += [f"too small: {text}" for text in found["small"]] + [f"too little contrast: {text}" for text in found["poor"]]
    if (found["back"] > 0.5) != (scheme == "light"):
        bad.append("its background does not follow the scheme")
    if found["text"] < 20:
        bad.append("it is empty")
    if shots:
        picture = browser.call("Page.captureScreenshot", session, captureBeyondViewport=True)
        (shots / f"{page.stem}-{width}-{scheme}.png").write_bytes(base64.b64decode(picture["data"]))
    browser.call("Target.closeTarget", targetId=target)
    return bad, found


def main():
    args, shots = sys.argv[1:], None
    if args and args[0] == "--shots":
        shots, args = pathlib.Path(args[1]), args[2:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(args[0], folder)
        try:
            for page in map(pathlib.Path, args[1:]):
                for width in WIDTHS:
                    for scheme in SCHEMES:
                        bad, found = look(browser, page, width, scheme, shots)
                        failed += len(bad)
                        print(f"{page.name} at {width}, {scheme}: {found['drawings']} drawings, {len(bad)} wrong")
                        for line in bad:
                            print("  " + line)
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
