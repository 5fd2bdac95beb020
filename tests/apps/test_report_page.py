"""The page of `panto report` in a browser: Debian's `chromium` without a window, where it is installed. What the page
holds is laid out, pictures and sounds are decoded, nothing is blocked, and nothing is asked for from outside."""
import html
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))
PANTO = BUILD / "apps" / "panto"
SUMMARIES = BUILD / "tests" / "summaries"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

# In a page around the report's: what the browser made of it.
LOOK = """<!DOCTYPE html><title>-</title><body><iframe id="page" width="1200" height="900" src="report.html"></iframe><script>
const page = document.getElementById("page");
const size = (element) => { const box = element.getBoundingClientRect(); return [box.width, box.height, box.right]; };
const all = (selector) => [...page.contentDocument.querySelectorAll(selector)];
async function look() {
  const sounds = all("audio");
  for (const sound of sounds) {
    if (sound.readyState > 0) continue;
    await new Promise((done) => { sound.onloadedmetadata = done; sound.onerror = done; sound.load(); });
  }
  return {
    title: page.contentDocument.title,
    width: page.contentDocument.documentElement.scrollWidth,
    text: page.contentDocument.body.innerText,
    images: all("img").map((image) => [image.naturalWidth, image.naturalHeight, ...size(image)]),
    pictures: all("svg").map(size),
    curves: all("svg path").filter((path) => path.getTotalLength() > 0).length,
    sounds: sounds.map((sound) => sound.duration),
    loaded: page.contentWindow.performance.getEntriesByType("resource").map((entry) => entry.name),
  };
}
page.onload = () => look().then((seen) => { document.body.textContent = "SEEN" + JSON.stringify(seen) + "END"; });
</script>"""


def npy(descr, dims, data):
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(dims)})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(*dims, values):
    return npy("<f4", dims, struct.pack(f"<{len(values)}f", *values))


def rows_of_png(data):
    """RGB or RGBA of 8 bits a channel, as rows of bytes, and how many bytes a pixel has."""
    at, packed, width, size = 8, b"", 0, 0
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, _, colours = struct.unpack(">IIBB", body[:10])
            size = {2: 3, 6: 4}[colours]
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, rows, before = zlib.decompress(packed), [], bytes(width * size)
    for start in range(0, len(raw), width * size + 1):
        way, row = raw[start], bytearray(raw[start + 1:start + 1 + width * size])
        for i in range(len(row)):
            left, above = (row[i - size] if i >= size else 0), before[i]
            corner = before[i - size] if i >= size else 0
            guess = left + above - corner
            nearest = min((left, above, corner), key=lambda v: abs(guess - v))
            row[i] = (row[i] + (0, left, above, (left + above) // 2, nearest)[way]) % 256
        rows.append(bytes(row))
        before = rows[-1]
    return rows, size


@unittest.skipUnless(CHROMIUM, "Debian's package chromium is not installed")
class ReportPageTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *arguments):
        result = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stderr}")
        return result

    def browse(self, *options):
        return self.run_program(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                                "--allow-file-access-from-files", "--disable-web-security",
                                f"--user-data-dir={self.folder / 'profile'}", *options)

    def test_all_that_a_run_holds_is_seen(self):
        arrays = {
            "scalars": floats(4, values=[1.0, 0.5, 0.25, 0.125]),
            "values": floats(6, values=[0, 1, 2, 3, 4, 9]),
            "images": npy("|u1", (2, 5, 7, 3), bytes(range(210))),
            "labels": npy("|b1", (4,), bytes([1, 0, 1, 1])),
            "predictions": floats(4, values=[0.9, 0.4, 0.6, 0.2]),
            "samples": floats(2, 800, 2, values=[0.25] * 3200),
        }
        with zipfile.ZipFile(self.folder / "in.npz", "w") as archive:
            for name, content in arrays.items():
                archive.writestr(name + ".npy", content)
        self.run_program(SUMMARIES, "write", self.folder / "in.npz", self.folder / "run")
        self.run_program(PANTO, "report", self.folder / "run", "--out", self.folder / "report.html", "--title",
                         "<first> & only")
        (self.folder / "look.html").write_text(LOOK)
        shown = self.browse("--virtual-time-budget=20000", "--dump-dom", (self.folder / "look.html").as_uri())
        found = re.search(r"SEEN(.*)END", html.unescape(shown.stdout), re.DOTALL)
        self.assertTrue(found, shown.stdout[-2000:] + shown.stderr[-2000:])
        seen = json.loads(found[1])
        self.assertEqual(seen["title"], "<first> & only")
        for text in ("loss", "values", "images", "samples", "some *text*", "curve", "rate", "adam", "Mul"):
            self.assertIn(text, seen["text"])
        # Two of the images' own kind, and one in TensorFlow 1's.
        self.assertEqual([image[:2] for image in seen["images"]], [[7, 5]] * 3)
        for width, height, right in [image[2:] for image in seen["images"]] + seen["pictures"]:
            self.assertGreater(width, 0)
            self.assertGreater(height, 0)
            self.assertLessEqual(right, 1200)
        self.assertLessEqual(seen["width"], 1200, "the page is wider than the window")
        self.assertGreaterEqual(len(seen["pictures"]), 4)
        self.assertGreaterEqual(seen["curves"], 4)
        self.assertEqual(len(seen["sounds"]), 3)
        for seconds in seen["sounds"]:
            self.assertAlmostEqual(seconds, 0.1, places=2)
        self.assertEqual([name for name in seen["loaded"] if not name.startswith("data:")], [])
        # What the page's own policy refused, and what else the browser complained of, it would have said.
        self.assertEqual([line for line in shown.stderr.splitlines() if "CONSOLE" in line], [])

    def test_curves_are_drawn(self):
        """In pixels: the line of a loss that falls is below its beginning further to the right."""
        with zipfile.ZipFile(self.folder / "in.npz", "w") as archive:
            archive.writestr("scalars.npy", floats(50, values=[1 - k / 50 for k in range(50)]))
            archive.writestr("values.npy", floats(2, values=[0, 1]))
            archive.writestr("images.npy", npy("|u1", (1, 2, 2, 1), bytes(4)))
            archive.writestr("labels.npy", npy("|b1", (2,), bytes([1, 0])))
            archive.writestr("predictions.npy", floats(2, values=[0.9, 0.4]))
            archive.writestr("samples.npy", floats(1, 10, 1, values=[0.0] * 10))
        self.run_program(SUMMARIES, "write", self.folder / "in.npz", self.folder / "run")
        self.run_program(PANTO, "report", self.folder / "run", "--out", self.folder / "report.html")
        page = (self.folder / "report.html").read_text()
        # The loss's picture alone, so large that its line is most of what is seen.
        figure = next(f for f in re.findall(r"<figure>.*?</figure>", page, re.DOTALL) if "loss" in f)
        style = re.search(r"<style>.*?</style>", page, re.DOTALL)[0]
        (self.folder / "loss.html").write_text(f"<!DOCTYPE html><body>{style}{re.search('<svg.*?</svg>', figure, re.DOTALL)[0]}")
        self.browse("--hide-scrollbars", "--window-size=800,500", f"--screenshot={self.folder / 's.png'}",
                    (self.folder / "loss.html").as_uri())
        rows, size = rows_of_png((self.folder / "s.png").read_bytes())
        colour = bytes.fromhex(re.search(r'stroke="#([0-9a-f]{6})"[^>]*', figure)[1])
        places = [(x, y) for y, row in enumerate(rows) for x in range(0, len(row) // size)
                  if max(abs(a - b) for a, b in zip(row[x * size:x * size + 3], colour)) < 40]
        self.assertGreater(len(places), 200)
        left, right = min(places), max(places)
        self.assertGreater(right[0] - left[0], 150)
        self.assertGreater(right[1] - left[1], 50)


if __name__ == "__main__":
    unittest.main()
