#!/usr/bin/env python3
"""Makes JPEG files and what Pillow decodes them to. Needs Pillow and NumPy.

Run it in this folder; the results are committed.
"""
import numpy as np
from PIL import Image

y, x = np.mgrid[0:13, 0:17]
smooth = np.stack([x * 15, y * 19, 255 - x * 7 - y * 8], -1).clip(0, 255).astype(np.uint8)
colours = Image.fromarray(smooth)
# A ramp of four greys in blocks, which JPEG keeps.
grey = Image.fromarray(np.repeat(np.repeat(np.array([[0, 255], [100, 200]], np.uint8), 8, 0), 8, 1))

colours.save("colours.jpg", quality=90)
colours.save("full_colours.jpg", quality=95, subsampling=0)
colours.save("progressive.jpg", quality=90, progressive=True)
grey.save("grey.jpg", quality=95)
Image.merge("CMYK", [colours.getchannel(0)] * 4).save("cmyk.jpg", quality=50)

decoded = {}
for name in ("colours", "full_colours", "progressive", "grey"):
    pixels = np.asarray(Image.open(name + ".jpg"))
    decoded[name] = pixels if pixels.ndim == 3 else pixels[..., None]
np.savez_compressed("decoded.npz", **decoded)
