"""Calls of ops of recurrent networks, for op_cases.py.

Of BlockLSTM only calls of all steps: what TensorFlow gives of gates of later steps is whatever was in memory.
"""

import numpy as np

NEAR = dict(rtol=2e-6, atol=2e-6)


def recurrent_family(cases):
    random = np.random.Generator(np.random.PCG64(5))

    def numbers(*shape, low=-1.0):
        return np.round(random.uniform(low, 1, shape), 3).astype(np.float32)

    batch, inputs, units, time = 3, 2, 4, 5
    state, width = (batch, units), inputs + units
    gru = dict(
        x=numbers(batch, inputs),
        h_prev=numbers(*state),
        w_ru=numbers(width, 2 * units),
        w_c=numbers(width, units),
        b_ru=numbers(2 * units),
        b_c=numbers(units),
    )
    cases.add("GRUBlockCell", "plain", **gru, **NEAR)
    cases.add(
        "GRUBlockCellGrad",
        "plain",
        **gru,
        r=numbers(*state, low=0),
        u=numbers(*state, low=0),
        c=numbers(*state),
        d_h=numbers(*state),
        **NEAR,
    )
    lstm = dict(
        cs_prev=numbers(*state),
        h_prev=numbers(*state),
        w=numbers(width, 4 * units),
        wci=numbers(units),
        wcf=numbers(units),
        wco=numbers(units),
        b=numbers(4 * units),
    )
    given = dict(i=0, cs=-1, f=0, o=0, ci=-1, co=-1)
    for peephole in (False, True):
        label = "peephole" if peephole else "plain"
        cases.add(
            "LSTMBlockCellGrad",
            label,
            x=gru["x"],
            **lstm,
            **{name: numbers(*state, low=low) for name, low in given.items()},
            cs_grad=numbers(*state),
            h_grad=numbers(*state),
            use_peephole=peephole,
            **NEAR,
        )
        x = numbers(time, batch, inputs)
        for op, attrs in (
            ("BlockLSTM", dict(forget_bias=0.5, cell_clip=0.4)),
            ("BlockLSTM", {}),
            ("BlockLSTMV2", {}),
            ("BlockLSTMV2", dict(cell_clip=0.3)),
        ):
            name = label + (" clipped" if attrs else "")
            cases.add(op, name, seq_len_max=np.int64(time), x=x, **lstm, use_peephole=peephole, **attrs, **NEAR)
        for op in ("BlockLSTMGrad", "BlockLSTMGradV2"):
            for steps in (time, 2, 0):
                cases.add(
                    op,
                    f"{label} {steps} steps",
                    seq_len_max=np.int64(steps),
                    x=x,
                    **lstm,
                    **{key: numbers(time, *state, low=low) for key, low in given.items()},
                    h=numbers(time, *state),
                    cs_grad=numbers(time, *state),
                    h_grad=numbers(time, *state),
                    use_peephole=peephole,
                    **NEAR,
                )
