"""Makes the table of device/cpu/random/sobol_numbers.cc: `python tests/reference/sobol_numbers.py > sobol_numbers.cc`.

The direction numbers of Joe and Kuo are read off TensorFlow's points. Of each dimension but the first they follow from
a primitive polynomial and as many numbers as its degree, which is all that the table has; that the others follow is
checked here.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

DIMENSIONS, DIGITS = 2000, 28
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

HEAD = """// Made by tests/reference/sobol_numbers.py: what the direction numbers of Sobol sequences follow from (Joe and Kuo
// 2008), six bits a letter. sobol.cc says how it is read.
#include "panto/device/cpu/random/sobol_numbers.h"

namespace panto::cpu {

const char* const kSobolNumbers ="""


def numbers():
    """m[dimension][digit]: odd, below 2^(digit + 1). Points 2^k - 1 and 2^k differ by digit k."""
    columns = []
    for k in range(DIGITS):
        count = 1 if k == 0 else 2
        points = tf.raw_ops.SobolSample(dim=DIMENSIONS, num_results=count, skip=max(0, 2**k - 2), dtype=tf.float64)
        whole = (points.numpy() * 2.0 ** (k + 1)).astype(np.int64)
        columns.append(whole[0] if k == 0 else whole[0] ^ whole[1])
    return np.stack(columns, 1)


def follows(m, degree, polynomial):
    for k in range(degree, DIGITS):
        value = m[k - degree] ^ (m[k - degree] << degree)
        for i in range(1, degree):
            if polynomial >> (degree - 1 - i) & 1:
                value ^= m[k - i] << i
        if value != m[k]:
            return False
    return True


def main():
    table = [[int(v) for v in row] for row in numbers()]
    assert all(v == 1 for v in table[0])
    bits, degree, polynomial = [], 1, -1
    for m in table[1:]:
        assert all(v % 2 == 1 and v < 2 ** (k + 1) for k, v in enumerate(m))
        while True:  # polynomials come in ascending order
            polynomial += 1
            if polynomial == 2 ** (degree - 1):
                degree, polynomial = degree + 1, 0
                assert degree < 16
            if follows(m, degree, polynomial):
                break
        fields = [(degree, 4), (polynomial, degree - 1)] + [(m[k] >> 1, k) for k in range(degree)]
        for value, width in fields:
            bits += [value >> i & 1 for i in reversed(range(width))]
    bits += [0] * (-len(bits) % 6)
    text = "".join(LETTERS[int("".join(map(str, bits[i : i + 6])), 2)] for i in range(0, len(bits), 6))
    print(HEAD)
    for i in range(0, len(text), 112):
        print(f'    "{text[i : i + 112]}"' + (";" if i + 112 >= len(text) else ""))
    print("\n}  // namespace panto::cpu")


if __name__ == "__main__":
    main()
