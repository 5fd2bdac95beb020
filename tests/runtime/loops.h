// Loops of TensorFlow 1 as text (tests/graph/text_graph.h), for tests of what runs them.
#pragma once

#include <string>

#include "panto/lib/runtime/session.h"

namespace panto::test {

// So that the dataflow executor runs them.
inline SessionOptions as_written(const char* passes = "") { return {.passes = passes, .raise_control_flow = false}; }

inline float number(Session& session, const char* fetch, const Feeds& feeds = {}) {
  return session.run(fetch, feeds).item<float>();
}

// y = p ? x * x : -x;  z = y + x;  index tells which.
inline constexpr const char* kCond = R"(
  p = Placeholder(; dtype=bool, shape=[])
  x = Placeholder(; dtype=float32, shape=[?])
  branch = Switch(x, p)
  no = Neg(branch)
  yes = Mul(branch:1, branch:1)
  y = Merge(no, yes)
  index = Identity(y:1)
  z = AddV2(y, x)
)";

// With `text`, in which # stands for the number.
inline std::string with_number(std::string text, int number) {
  for (size_t at = text.find('#'); at != std::string::npos; at = text.find('#')) {
    text.replace(at, 1, std::to_string(number));
  }
  return text;
}

// for (i = 0, x = 0; i < limit; ++i) x += i;  y is the sum of both.
inline std::string counting_loop(int parallel_iterations) {
  return with_number(R"(
    limit = Placeholder(; dtype=float32, shape=[])
    zero = Const(; value=float32{0})
    i_enter = Enter(zero; frame_name="loop", parallel_iterations=#)
    x_enter = Enter(zero; frame_name="loop", parallel_iterations=#)
    limit_in = Enter(limit; frame_name="loop", is_constant=true, parallel_iterations=#)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, limit_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    i_body = Identity(i_s:1)
    one = Const(^i_body; value=float32{1})
    new_i = AddV2(i_body, one)
    new_x = AddV2(x_s:1, i_body)
    i_next = NextIteration(new_i)
    x_next = NextIteration(new_x)
    i_out = Exit(i_s)
    x_out = Exit(x_s)
    y = AddV2(i_out, x_out)
  )",
                     parallel_iterations);
}

// for (i = 0; i < n; ++i) for (j = 0; j < i; ++j) sum += i * j + 1;
inline std::string nested_loop(int parallel_iterations) {
  return with_number(R"(
    n = Placeholder(; dtype=float32, shape=[])
    zero = Const(; value=float32{0})
    i_enter = Enter(zero; frame_name="outer", parallel_iterations=#)
    sum_enter = Enter(zero; frame_name="outer", parallel_iterations=#)
    n_in = Enter(n; frame_name="outer", is_constant=true, parallel_iterations=#)
    i = Merge(i_enter, i_next)
    sum = Merge(sum_enter, sum_next)
    i_less = Less(i, n_in)
    i_go = LoopCond(i_less)
    i_s = Switch(i, i_go)
    sum_s = Switch(sum, i_go)
    i_body = Identity(i_s:1)
    one = Const(^i_body; value=float32{1})
    j_zero = Const(^i_body; value=float32{0})
    j_enter = Enter(j_zero; frame_name="inner", parallel_iterations=#)
    t_enter = Enter(sum_s:1; frame_name="inner", parallel_iterations=#)
    i_in = Enter(i_body; frame_name="inner", is_constant=true, parallel_iterations=#)
    one_in = Enter(one; frame_name="inner", is_constant=true, parallel_iterations=#)
    j = Merge(j_enter, j_next)
    t = Merge(t_enter, t_next)
    j_less = Less(j, i_in)
    j_go = LoopCond(j_less)
    j_s = Switch(j, j_go)
    t_s = Switch(t, j_go)
    product = Mul(i_in, j_s:1)
    term = AddV2(product, one_in)
    new_t = AddV2(t_s:1, term)
    new_j = AddV2(j_s:1, one_in)
    j_next = NextIteration(new_j)
    t_next = NextIteration(new_t)
    t_out = Exit(t_s)
    new_i = AddV2(i_body, one)
    i_next = NextIteration(new_i)
    sum_next = NextIteration(t_out)
    sum_out = Exit(sum_s)
  )",
                     parallel_iterations);
}

// for (i = 0, x = 0; i < n; ++i) x += a random number;
inline std::string random_loop(int parallel_iterations) {
  return with_number(R"(
    n = Placeholder(; dtype=float32, shape=[])
    zero = Const(; value=float32{0})
    i_enter = Enter(zero; frame_name="loop", parallel_iterations=#)
    x_enter = Enter(zero; frame_name="loop", parallel_iterations=#)
    n_in = Enter(n; frame_name="loop", is_constant=true, parallel_iterations=#)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=float32{1})
    shape = Const(^pivot; value=int32[0]{})
    r = RandomUniform(shape; dtype=float32, seed=3, seed2=4)
    new_i = AddV2(i_s:1, one)
    new_x = AddV2(x_s:1, r)
    i_next = NextIteration(new_i)
    x_next = NextIteration(new_x)
    x_out = Exit(x_s)
  )",
                     parallel_iterations);
}

}  // namespace panto::test
