"""Calls of Fourier transforms, for op_cases.py."""

import numpy as np

C8, C16, F4, F8, I4 = np.complex64, np.complex128, np.float32, np.float64, np.int32


def numbers(*shape, dtype, seed=0):
    generator = np.random.Generator(np.random.PCG64(seed))
    values = np.round(generator.uniform(-2, 2, shape), 3)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * np.round(generator.uniform(-2, 2, shape), 3)
    return values.astype(dtype)


def fourier(cases):
    shapes = {
        "": [(2, 8), (3, 15), (37,), (2, 94)],
        "2D": [(3, 4), (2, 5, 6), (41, 2)],
        "3D": [(2, 3, 4), (2, 4, 1, 7)],
    }
    for real, dtype, name, near in ((F4, C8, "64", 2e-6), (F8, C16, "128", 1e-14)):
        close = dict(rtol=near, atol=40 * near)
        for suffix, all_shapes in shapes.items():
            rank = int(suffix[:1] or 1)
            for shape in all_shapes:
                label = f"{name}-{'x'.join(map(str, shape))}"
                z = numbers(*shape, dtype=dtype)
                cases.add(f"FFT{suffix}", label, input=z, **close)
                cases.add(f"IFFT{suffix}", label, input=z, **close)
                lengths = np.array(shape[-rank:], I4)
                cases.add(f"RFFT{suffix}", label, input=numbers(*shape, dtype=real), fft_length=lengths, Tcomplex=dtype, **close)
                for odd in (0, 1):
                    back = lengths.copy()
                    back[-1] = max(1, 2 * (shape[-1] - 1) + odd)
                    cases.add(f"IRFFT{suffix}", f"{label}-{odd}", input=z, fft_length=back, Treal=real, **close)
