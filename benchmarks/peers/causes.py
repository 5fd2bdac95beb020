"""Why another library is ahead in a row, where that was measured or follows from what the ops promise: {row: cause}.
Pages print the causes of rows in which we are slower; one that is ahead again may stay here for other processors.
"""
HALVES = ("each op of ours rounds its result to 16 bits, so that a fused loop gives the bits of separate calls; XLA "
          "keeps 32 bits between ops that it fuses")

CAUSES = {
    "log_exp_traced": "XLA takes log(exp(x)) for x, which changes results; ours are those of the ops",
    "gelu_16m_traced_bfloat16": HALVES,
    "gelu_16m_traced_float16": HALVES,
    "while_traced": "XLA compiles the loop to machine code; ours calls the inner loop of each op in each round",
    "while_grad_traced": "the same; and a list keeps a value of each step for the way back",
    "resnet50_file": "apart, our 3x3 convolutions do 160 to 175 GFLOP/s of the 186 that two of these cores have, but 110 "
                     "to 130 in the network, where the filters, 100 MB, come from memory anew in each run",
    "efficientnet_b0_file": "measured before swish, and what follows depthwise convolutions, became parts of the "
                            "convolutions: they were a fifth of the time",
}
