"""TensorFlow's random numbers, made again with NumPy only: how its seeds become numbers.

generate.py checks every line of this page against TensorFlow: uniforms bit for bit, normals to 1e-6.

The generator
    Philox-4x32-10 (Salmon et al., SC 2011): a 64-bit key and a 128-bit counter give a block of four uint32 words.
    Counter value n gives block n; nothing else is state. Key and counter are little-endian arrays of uint32:
    key = (low, high), counter = (c0, c1, c2, c3) with c0 the lowest. "Skip n blocks" is a 128-bit addition.

Where key and counter come from
    RandomUniform, RandomStandardNormal (and the other stateful ops with attributes seed and seed2):
        key = seed, counter = seed2 * 2**64, both taken as uint64 (negative ones in two's complement).
        seed == seed2 == 0 means "seed me from the system": another stream in every session.
        A call that makes n elements then advances the counter by 256 * n blocks, whatever the dtype and however few
        blocks it used; a call with n == 0 advances nothing. Each node has its own state, which begins anew with each
        Session; two nodes with the same seeds give the same numbers.
    StatelessRandomGetKeyCounter(seed = [s0, s1]), int32 (sign-extended) or int64:
        w = the block of key 0x02461e293ec8f720 and counter s0 + s1 * 2**64 (s0, s1 as uint64);
        key = w0 + w1 * 2**32; counter = [0, w2 + w3 * 2**32].
    StatelessRandom*V2(shape, key[1], counter[2], alg):
        the key, and counter[0] + counter[1] * 2**64. Longer counters: the rest is ignored. alg: 1 is Philox, 3 "choose"
        is Philox too; 2 (ThreeFry) is an error on a CPU. No state: the same call gives the same numbers.

From words to numbers: element i of the flattened output, with w(j) = word j of the stream (word j % 4 of block j // 4)
    float uniform   i takes w(i): its low 23 bits are the mantissa of a float in [1, 2); minus 1.
    double uniform  i takes w(2i), w(2i + 1): the low 20 bits of the first are the high part of the mantissa, all 32 of
                    the second the low part, of a double in [1, 2); minus 1.
    half, bfloat16  i takes w(i): low 10 or 7 bits as the mantissa of a number in [1, 2); minus 1.
    float normal    elements 2k and 2k + 1 take w(2k), w(2k + 1) through Box-Muller, all in float:
                    u = max(uniform(w(2k)), 1e-7), v = float(2 pi * uniform(w(2k + 1))), the product in double,
                    r = sqrt(-2 log(u)); element 2k = sin(v) * r, element 2k + 1 = cos(v) * r (sine first).
                    With glibc's logf, sqrtf and sincosf the bits equal those of TensorFlow's Linux wheel.
    double normal   elements 2k and 2k + 1 take w(4k) ... w(4k + 3): u from the first two, v from the last two, the same
                    in double, with the same 1e-7 (so no normal exceeds 5.678 in either type).
    half, bfloat16  normals are float normals, rounded.
    int32 in range  i takes w(i): minval + w(i) % (maxval - minval) as uint32.
    int64 in range  i takes w(2i) + w(2i + 1) * 2**32: minval + that % (maxval - minval) as uint64.
    truncated       elements come in groups of 4 (float) or 2 (double). Group g starts its own stream, at block 256 * g
                    (float) or 128 * g (double) of the call, makes normals from it in order, and keeps the first 4 (2)
                    with an absolute value below 2.

    So an element depends on its index only. TensorFlow's CPU kernel hands ranges of whole blocks (groups) to threads,
    each of which skips to its first one; a last block that is not used up is thrown away.
"""

import numpy as np

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
SCRAMBLE_KEY = 0x02461E29_3EC8F720
BLOCKS_PER_ELEMENT = 256  # what a stateful call reserves


def blocks(key, counter, count):
    """`count` blocks from the counter on, as uint32 [count, 4]."""
    index = [(counter + i) & ((1 << 128) - 1) for i in range(count)]
    c0, c1, c2, c3 = (np.array([(i >> (32 * word)) & MASK32 for i in index], np.uint64) for word in range(4))
    k0, k1 = key & MASK32, key >> 32
    mask, half = np.uint64(MASK32), np.uint64(32)
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ np.uint64(k0), p1 & mask, (p0 >> half) ^ c3 ^ np.uint64(k1), p0 & mask
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return np.stack([c0, c1, c2, c3], -1).astype(np.uint32)


def words(key, counter, count):
    """The first `count` words of the stream, uint32 [count]."""
    return blocks(key, counter, -(-count // 4)).reshape(-1)[:count]


def stateful_start(seed, seed2):
    """(key, counter) of a stateful op's first call."""
    return seed & MASK64, (seed2 & MASK64) << 64


def stateful_next(counter, elements):
    """The counter after a call that made that many elements."""
    return (counter + BLOCKS_PER_ELEMENT * elements) & ((1 << 128) - 1)


def key_counter(seed):
    """StatelessRandomGetKeyCounter: (key uint64 [1], counter uint64 [2])."""
    s0, s1 = (int(s) & MASK64 for s in seed)
    w = [int(word) for word in words(SCRAMBLE_KEY, s0 | (s1 << 64), 4)]
    return np.array([w[0] | (w[1] << 32)], np.uint64), np.array([0, w[2] | (w[3] << 32)], np.uint64)


def start_of(key, counter):
    """(key, counter) as Python integers, from the arrays that StatelessRandom*V2 takes."""
    return int(key[0]), int(counter[0]) | (int(counter[1]) << 64)


def float_of(w):
    return ((w & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)


def double_of(w):
    pair = w.reshape(-1, 2).astype(np.uint64)
    mantissa = ((pair[:, 0] & np.uint64(0xFFFFF)) << np.uint64(32)) | pair[:, 1]
    return (mantissa | np.uint64(1023 << 52)).view(np.float64) - 1.0


def uniform(key, counter, count, dtype):
    """`count` numbers in [0, 1)."""
    if dtype == np.float64:
        return double_of(words(key, counter, 2 * count))
    return float_of(words(key, counter, count))


def normal(key, counter, count, dtype):
    """`count` normal numbers by Box-Muller."""
    u = uniform(key, counter, count + count % 2, dtype).reshape(-1, 2)
    r = np.sqrt(dtype(-2) * np.log(np.maximum(u[:, 0], dtype(1e-7))))
    v = (2 * np.pi * u[:, 1].astype(np.float64)).astype(dtype)
    return np.stack([np.sin(v) * r, np.cos(v) * r], -1).reshape(-1)[:count]


def uniform_int(key, counter, count, low, high, dtype):
    """`count` integers in [low, high)."""
    if dtype == np.int64:
        pair = words(key, counter, 2 * count).reshape(-1, 2).astype(np.uint64)
        raw = pair[:, 0] | (pair[:, 1] << np.uint64(32))
    else:
        raw = words(key, counter, count).astype(np.uint64)
    return (low + (raw % np.uint64(high - low)).astype(np.int64)).astype(dtype)


def truncated_normal(key, counter, count, dtype):
    """`count` normal numbers, those with an absolute value of 2 or more thrown away."""
    group = 2 if dtype == np.float64 else 4
    parts = []
    for g in range(-(-count // group)):
        numbers = normal(key, counter + g * group * 256 // 4, 64, dtype)
        parts.append(numbers[np.abs(numbers) < 2][:group])
    return np.concatenate(parts)[:count] if parts else np.zeros(0, dtype)
