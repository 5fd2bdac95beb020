"""Calls of connectionist temporal classification, for op_cases.py."""

import numpy as np


def connectionist(cases):
    random = np.random.Generator(np.random.PCG64(3))
    # TensorFlow computes some of it in float32 whatever the type.
    for dtype, near in ((np.float32, 2e-5), (np.float64, 2e-7)):
        x = np.round(random.uniform(-3, 3, (12, 4, 6)), 3).astype(dtype)
        rows = [[0, 1, 1, 2], [4], [3, 3, 3, 0, 2], [2, 0]]
        places = np.array([[b, i] for b, row in enumerate(rows) for i in range(len(row))], np.int64)
        values = np.array(sum(rows, []), np.int32)
        blanks = values.copy()
        blanks[[3, 9]] = 5  # the last of two rows
        name = np.dtype(dtype).name
        for label, lengths, labels, attrs in (
            ("plain", [12, 12, 12, 12], values, {}),
            ("short", [8, 1, 8, 3], values, {}),
            ("apart", [12, 12, 9, 4], values, dict(ctc_merge_repeated=False)),
            ("collapsed", [12, 12, 9, 4], values, dict(preprocess_collapse_repeated=True)),
            ("ignored", [3, 0, 12, 2], values, dict(ignore_longer_outputs_than_inputs=True)),
            ("impossible", [12, 5, 5, 2], values, {}),
            ("blanks", [12, 5, 12, 2], blanks, {}),
        ):
            cases.add(
                "CTCLoss",
                f"{name}-{label}",
                inputs=x,
                labels_indices=places,
                labels_values=labels,
                sequence_length=np.array(lengths, np.int32),
                rtol=near,
                atol=near,
                **attrs,
            )


def decoders(cases):
    random = np.random.Generator(np.random.PCG64(4))
    for dtype, near in ((np.float32, 4e-6), (np.float64, 4e-7)):  # some of TensorFlow's float64 is float32
        name = np.dtype(dtype).name
        x = np.round(random.uniform(-2, 2, (10, 4, 5)), 3).astype(dtype)
        lengths = np.array([10, 7, 3, 5], np.int32)
        given = dict(inputs=x, sequence_length=lengths, rtol=near, atol=near)
        cases.add("CTCGreedyDecoder", f"{name} plain", **given)
        cases.add("CTCGreedyDecoder", f"{name} merged", **given, merge_repeated=True)
        cases.add("CTCGreedyDecoder", f"{name} other blank", **given, merge_repeated=True, blank_index=-3)
        for width, paths, merge in ((1, 1, False), (3, 2, True), (6, 3, False), (30, 8, False), (400, 2, True)):
            cases.add(
                "CTCBeamSearchDecoder",
                f"{name} {width} {paths} {merge}",
                **given,
                beam_width=width,
                top_paths=paths,
                merge_repeated=merge,
            )
    ties = np.zeros([4, 1, 4], np.float32)
    for width, paths in ((2, 2), (5, 3)):
        cases.add(
            "CTCBeamSearchDecoder",
            f"equal scores {width}",
            inputs=ties,
            sequence_length=np.array([4], np.int32),
            rtol=4e-6,
            atol=4e-6,
            beam_width=width,
            top_paths=paths,
        )
