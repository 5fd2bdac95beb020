"""Why another library is ahead in a row, where that was measured or follows from what the ops promise: {row: cause}.
Pages print the causes of rows in which we are slower; one that is ahead again may stay here for other processors.
"""
HALVES = ("each op of ours rounds its result to 16 bits, so that a fused loop gives the bits of separate calls; XLA "
          "keeps 32 bits between ops that it fuses")
MKL = "PyTorch has Intel's MKL; ours is LAPACK over Debian's OpenBLAS 0.3.21"
FFT = ("PyTorch has Intel's MKL; ours passes over a line twice, and turns it in between (rows of the page for AVX2 are "
       "older: a pass for each factor)")

CAUSES = {
    "log_exp_traced": "XLA takes log(exp(x)) for x, which changes results; ours are those of the ops",
    "gelu_16m_traced_bfloat16": HALVES,
    "gelu_16m_traced_float16": HALVES,
    "while_traced": "XLA compiles the loop to machine code; ours calls the inner loop of each op in each round",
    "while_grad_traced": "the same; and a list keeps a value of each step for the way back",
    "matmul_16_float16": "PyTorch multiplies float16 with AVX-512 FP16; Debian's oneDNN 2.6 cannot, ours converts to floats",
    "matmul_1_float16": "ours converts pieces of rows to floats in the cache, which takes 0.6 of the time, then multiplies "
                        "them; PyTorch converts in registers",
    "rows_4096_bfloat16": "XLA calls YNNPACK, which adds pairs by an instruction for products of bfloat16 (AVX-512 BF16); "
                          "that flushes subnormal numbers and rounds otherwise than a sum of floats, so ours converts "
                          "each number by a shift",
    "fft_rows": FFT,
    "fft_1m": FFT,
    "fft2_1024": FFT,
    "eigh_512": MKL,
    "solve_512": MKL,
    "sparse_dense": "PyTorch has Intel's MKL; ours adds a row of the dense matrix for each element, in vectors",
    "scatter_add_1m": "JAX adds row after row on one thread; ours cuts rows by threads, each of which reads all indices",
    "segment_sum_1m": "JAX adds row after row on one thread; ours cuts rows by threads, each of which reads all indices",
    "cumsum_1m": "ours sums pieces before it writes the running sums, so that the bits do not depend on the number of "
                 "threads",
    "gradient_norms_traced": "torch.compile adds squares up in registers; ours writes a row of them to the cache, then adds",
    "regex_1m": "both call RE2: ours is Debian's of 2022, TensorFlow's its own newer one",
    "resnet50_file": "with AVX2 our 3x3 convolutions do 160 to 175 GFLOP/s apart, of the 186 that two cores of an EPYC "
                     "have, but 110 to 130 in the network, where the filters, 100 MB, come from memory anew in each run; "
                     "with AVX-512 they are those of Debian's oneDNN 2.6, and OpenVINO has a newer one",
    "efficientnet_b0_file": "measured before swish, and what follows depthwise convolutions, became parts of the "
                            "convolutions: they were a fifth of the time",
}
