#!/usr/bin/env python3
"""Makes what NumPy prints, and .npy files of forms our writer does not write. Needs NumPy 2.4.

print.npz and print.txt: arrays and str() of each. npy.npz: files as byte arrays, and what they hold.
Run it in this folder; the results are committed.
"""
import io
import zipfile

import numpy as np

rng = np.random.default_rng(20)


def print_cases():
    cases = []
    for dtype in (np.float32, np.float64, np.float16):
        # Scalars.
        cases += [np.array(v, dtype) for v in (
            0, -0.0, 1, -1, 0.1, 1 / 3, 2.5, 100, 1e-4, 9.999e-5, 1e-5, 999, 1000, 65504, 999999, 999999.5, 1e6, 1234567.0,
            1e15, 9.9e15, 1e16, 1.5e16, 1e22, 1e-300, 1e300, 3.4e38, 5.9604645e-08, np.nan, np.inf, -np.inf)]
        # Every layout: few and many digits, exponents, signs, wrapping, summaries.
        for shape in ((3,), (2, 3), (2, 2, 2), (1, 1, 1, 1), (5, 1), (2, 0, 3), (0,), (30,), (3, 30), (1001,), (40, 40),
                      (1, 1200), (11, 11, 11)):
            for scale in (1, 1000.0, 1e-5):
                if np.prod(shape) > 1000 and scale != 1:
                    continue
                values = rng.standard_normal(shape) * scale
                cases.append(np.round(values).astype(dtype))
                if np.prod(shape) <= 1000:
                    cases += [np.round(values, 2).astype(dtype), values.astype(dtype)]
        for special in ((np.nan, np.inf), (np.nan,), (-np.inf,), (np.nan, -np.inf, 1), (np.inf, 0.5, -2), (0, np.nan)):
            cases.append(np.array(special, dtype))
        # Numbers of every size side by side.
        for _ in range(60):
            n = rng.integers(1, 7)
            values = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7, n)
            cases += [values.astype(dtype), np.round(values, int(rng.integers(0, 5))).astype(dtype)]
        unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
        for _ in range(60):  # any bits at all
            bits = rng.integers(0, np.iinfo(unsigned).max, rng.integers(1, 4), dtype=unsigned, endpoint=True)
            cases += [bits.view(dtype), bits[:1].view(dtype).reshape(())]
    for dtype in (np.complex64, np.complex128):
        cases += [np.array(v, dtype) for v in (0, 1, 1j, -1j, 1 + 2j, 1 - 2j, 0.1 + 0.3j, 1e-5 + 3j, 1e20j,
                                               complex(-0.0, 1), complex(np.nan, 1), complex(1, np.inf))]
        for shape in ((3,), (2, 3), (30,)):
            for scale in (1, 1e-5, 1e6):
                values = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) * scale
                cases += [values.astype(dtype), np.round(values, 2).astype(dtype)]
        cases.append(np.array([complex(np.nan, 1), complex(1, -np.inf), 2 + 3j], dtype))
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        limits = np.iinfo(dtype)
        cases += [np.array([limits.min, limits.max, 0], dtype), np.array(limits.max, dtype), np.arange(50).astype(dtype),
                  np.arange(24).astype(dtype).reshape(2, 3, 4), np.array([], dtype)]
    cases += [np.arange(2000).reshape(2, 1000), np.arange(1200, dtype=np.int32).reshape(10, 10, 12)]
    cases += [np.array(True), np.array(False), np.array([True, False]), np.array([[True, True], [True, False]]),
              np.zeros((0, 3), bool), rng.random(1500) < .5]
    cases += [np.array([b'a', b'bcd', b"it's", b'q"q', b'\'"', b'\\', b'\n\t\r\x00x\x7f\xff']),
              np.array([[b'a', b'b'], [b'cc', b'ddd']]), np.array([b'x' * 30] * 5), np.array([], 'S'),
              np.array([b'%d' % i for i in range(1100)])]
    return cases


def raw_npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version, allow_pickle=False)
    return out.getvalue()


def npy_cases():
    """name -> (the bytes of a file, what it holds in a form that the test can compare)"""
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
    words = np.array([['Pantograph', 'é', ''], ['日本語', '\U0001d11e', 'z']])
    encoded = np.char.encode(words, 'utf-8')
    cases = {}
    for version in ((1, 0), (2, 0), (3, 0)):
        cases['version_%d' % version[0]] = (raw_npy(a, version), a)
    cases['fortran'] = (raw_npy(np.asfortranarray(a)), a)
    cases['fortran_matrix'] = (raw_npy(np.asfortranarray(a[0].astype(np.int64))), a[0].astype(np.int64))
    cases['fortran_strings'] = (raw_npy(np.asfortranarray(encoded)), encoded)
    for t in ('>f8', '>i4', '>u2', '>c8', '>f2', '>i8', '>c16'):
        cases['big_' + t[1:]] = (raw_npy(a.astype(t)), a.astype('<' + t[1:]))
    cases['unicode'] = (raw_npy(words), encoded)
    cases['unicode_big'] = (raw_npy(words.astype('>U10')), encoded)
    cases['unicode_fortran'] = (raw_npy(np.asfortranarray(words)), encoded)
    cases['empty'] = (raw_npy(a[:, :0]), a[:, :0])
    cases['scalar'] = (raw_npy(np.array(7, np.int16)), np.array(7, np.int16))
    bools = bytearray(raw_npy(np.array([True, False, True, True])))
    bools[-1] = 255  # a bool that is neither 0 nor 1
    cases['bools'] = (bytes(bools), np.array([True, False, True, True]))
    return cases


def save(name, arrays):
    """Like np.savez_compressed, in stated order and without times."""
    with zipfile.ZipFile(name, 'w', zipfile.ZIP_DEFLATED) as archive:
        for key, value in arrays:
            archive.writestr(zipfile.ZipInfo(key + '.npy'), raw_npy(value), zipfile.ZIP_DEFLATED, 9)


arrays = print_cases()
save('print.npz', [('%04d' % i, a) for i, a in enumerate(arrays)])
with open('print.txt', 'w') as out:
    for i, a in enumerate(arrays):
        out.write('# %04d\n%s\n' % (i, a))
save('npy.npz', [(name + part, value) for name, (data, held) in npy_cases().items()
                 for part, value in (('', np.frombuffer(data, np.uint8)), ('.held', held))])
