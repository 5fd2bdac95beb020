// Hashes of strings, and of rows of any type.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/strings.h"

namespace panto {

const Op& kStringToHashBucketFast =
    define_op("StringToHashBucketFast(input: string; num_buckets: int >= 1) -> (output: int64)",
              {.doc = "For each string its FarmHash fingerprint of 64 bits modulo `num_buckets`.",
               .shape = shapes::same_as_input,
               .no_gradient = "numbers of buckets are not differentiable",
               .batch = batching::elementwise});

const Op& kStringToHashBucketStrong =
    define_op("StringToHashBucketStrong(input: string; num_buckets: int >= 1, key: list(int)) -> (output: int64)",
              {.doc = "For each string SipHash-2-4 (Aumasson and Bernstein 2012) with the two numbers of `key`, modulo "
                      "`num_buckets`: who does not know the key cannot choose strings that share a bucket.",
               .shape =
                   [](ShapeContext& c) {
                     const size_t count = c.integers("key").size();
                     if (count != 2) invalid("key: expected two numbers, got {}", count);
                     shapes::same_as_input(c);
                   },
               .no_gradient = "numbers of buckets are not differentiable",
               .batch = batching::elementwise});

const Op& kStringToHashBucket =
    define_op("StringToHashBucket(string_tensor: string; num_buckets: int >= 1) -> (output: int64)",
              {.doc = "For each string TensorFlow's own hash (MurmurHash64A) modulo `num_buckets`. TensorFlow does not "
                      "promise that it stays the same: for new programs there is StringToHashBucketFast.",
               .shape = shapes::same_as_input,
               .no_gradient = "numbers of buckets are not differentiable",
               .batch = batching::elementwise});

const Op& kFingerprint = define_op(
    "Fingerprint(data: T, method: string; T: type) -> (fingerprint: uint8)",
    {.doc = "For each row of `data`, along its first dimension, the 8 bytes of its FarmHash fingerprint, the lowest "
            "first: of the row's bytes, or of its string, or of the fingerprints of its strings. `method` is "
            "farmhash64, there is no other.",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 1);
           c.expect_scalar(1);
           c.output(PartialShape{c.rank(0) < 0 ? kUnknownDim : c.dim(0, 0), 8});
         },
     .no_gradient = "fingerprints are not differentiable",
     .types_reason = "resources and variants have no bytes that tell them apart",
     .batch = batching::loop});

}  // namespace panto
