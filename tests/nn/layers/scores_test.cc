// Shares of attention that are asked for, and norms without variables.
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/attention.h"
#include "panto/nn/layers/normalization.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

using Numbers = std::vector<double>;

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(scores)

// They add up to 1, and are those of which the output is made.
BOOST_AUTO_TEST_CASE(of_attention) {
  const Tensor query = wave({2, 3, 4}, 1), value = wave({2, 5, 4}, 2);
  const auto [y, shares] = Attention().with_scores(query, value);
  BOOST_TEST(shares.shape().to_string() == "[2,3,5]");
  expect_near(y, {2, 3, 4}, values_of(batch_matmul(shares, value)));
  expect_near(sum(AdditiveAttention(4).with_scores(query, value).scores, -1), {2, 3}, Numbers(6, 1), 1e-5);
  const MultiHeadAttention heads(4, {.heads = 2, .key_value_heads = 1});
  const auto [z, of_heads] = heads.with_scores(query, value);
  BOOST_TEST(of_heads.shape().to_string() == "[2,2,3,5]");
  expect_near(sum(of_heads, -1), {2, 2, 3}, Numbers(12, 1), 1e-5);
  expect_near(z, {2, 3, 4}, values_of(heads(query, value)));
}

BOOST_AUTO_TEST_CASE(norms_without_variables) {
  const LayerNorm bare(4, {.scale = false, .center = false}), whole(4);
  BOOST_TEST(bare.variables().empty());
  expect_near(everywhere(bare, wave({2, 4})), {2, 4}, values_of(whole(wave({2, 4}))));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
