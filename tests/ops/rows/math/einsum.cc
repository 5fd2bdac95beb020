// Samples of Einsum against its definition: a sum over all indices that are not in the output.
#include <algorithm>
#include <map>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::einsum_rows {
namespace {

// "a...b" with digits for the `count` dimensions of the ellipsis, the last one '0'.
std::string with_digits(std::string term, size_t count) {
  const size_t at = term.find("...");
  if (at == std::string::npos) return term;
  std::string digits;
  for (size_t i = count; i-- > 0;) digits += static_cast<char>('0' + i);
  return term.replace(at, 3, digits);
}

std::vector<Array> einsum(const Given& g) {
  std::string equation = g.text("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms = {""};
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  size_t most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto letters = static_cast<size_t>(std::ranges::count_if(terms[i], [](char c) { return c != '.'; }));
    const size_t rest = g.in[i].dims.size() - letters;
    terms[i] = with_digits(terms[i], rest);
    most = std::max(most, rest);
  }
  std::map<char, int64_t> size;
  std::map<char, int> uses;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t k = 0; k < terms[i].size(); ++k) {
      int64_t& d = size[terms[i][k]];
      d = d == 0 || d == 1 ? g.in[i].dims[k] : d;
      ++uses[terms[i][k]];
    }
  }
  std::string output;
  if (arrow != std::string::npos) {
    output = with_digits(equation.substr(arrow + 2), most);
  } else {
    output = with_digits("...", most);
    for (const auto& [letter, count] : uses) {
      if (letter > '9' && count == 1) output += letter;
    }
  }
  std::string summed;
  for (const auto& [letter, d] : size) {
    if (output.find(letter) == std::string::npos) summed += letter;
  }
  const auto dims_of = [&](const std::string& letters) {
    Index dims;
    for (const char c : letters) dims.push_back(size.at(c));
    return dims;
  };
  return {make(dims_of(output), [&](const Index& outer) {
    double sum = 0;
    for_each_index(dims_of(summed), [&](const Index& inner) {
      double product = 1;
      for (size_t i = 0; i < terms.size(); ++i) {
        Index index;
        for (size_t k = 0; k < terms[i].size(); ++k) {
          const size_t in_output = output.find(terms[i][k]);
          const int64_t at = in_output != std::string::npos ? outer[in_output] : inner[summed.find(terms[i][k])];
          index.push_back(g.in[i].dims[k] == 1 ? 0 : at);
        }
        product *= at(g.in[i], index);
      }
      sum += product;
    });
    return sum;
  })};
}

Sample sample(const char* equation, const std::vector<Index>& shapes) {
  Sample s;
  int seed = 0;
  for (const Index& dims : shapes) s.in.push_back(draw(dims, -2, 2, seed++));
  s.attrs = {{"equation", equation}, {"N", static_cast<int>(shapes.size())}};
  return s;
}

ErrorSample error(const char* equation, const std::vector<Index>& shapes, const char* text,
                  Code code = Code::kInvalidArgument) {
  const Sample s = sample(equation, shapes);
  return {.in = s.in, .attrs = s.attrs, .code = code, .text = text};
}

const Family family(
    "einsum",
    {
        {"Einsum",
         {.samples = {sample("ij->ji", {{2, 3}}), sample("ij->", {{2, 3}}), sample("ij->i", {{2, 3}}),
                      sample("kij->jk", {{2, 3, 4}}), sample("ijk->ijk", {{2, 3, 2}}), sample("ii->i", {{3, 3}}),
                      sample("ii", {{3, 3}}), sample("iji->j", {{2, 3, 2}}), sample("iii->i", {{2, 2, 2}}),
                      sample("aabb->ab", {{2, 2, 3, 3}}), sample("->", {{}}), sample("ba", {{2, 3}}),
                      sample("i->i", {{0}}), sample("ij->j", {{0, 3}})},
          .reference = einsum,
          .errors = {error("ij->k", {{2, 3}}, "equation: expected letters of the inputs in the output, got 'ij->k'"),
                     error("ij", {{2, 3, 4}}, "input 0: expected a rank of 2, got shape [2,3,4]"),
                     error("i...j", {{2}}, "input 0: expected a rank of at least 2, got shape [2]"),
                     error("i.j", {{2, 3}}, "equation: expected letters and at most one ellipsis in 'i.j', got 'i.j'"),
                     error("...i...", {{2, 3}}, "equation: expected letters and at most one ellipsis in '...i...'"),
                     error("i1->i", {{2, 3}}, "equation: expected letters and at most one ellipsis in 'i1'"),
                     error("ii->i", {{2, 3}}, "i: expected equal dimensions, got 2 and 3"),
                     error("i->ii", {{2}}, "equation: expected every letter once in the output, got 'i->ii'",
                           Code::kUnimplemented),
                     error("...i->i", {{2, 3}}, "equation: expected an ellipsis in the output, got '...i->i'"),
                     error("ij,jk->ik", {{2, 3}}, "inputs: expected 2, as in 'ij,jk->ik', got 1"),
                     error("i,i,i->i", {{2}, {3}, {2}}, "i: expected equal dimensions, got 2 and 3")},
          .types = {kFloat32, kFloat64, kInt32, kInt64},
          .units = 16,
          .floor = 4}},
        {"Einsum",
         {.samples = {sample("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}}), sample("i,i,i->i", {{3}, {3}, {3}}),
                      sample("i,j,k->kji", {{2}, {3}, {4}}), sample("ij,kj,j->", {{2, 3}, {4, 3}, {3}}),
                      sample("bij,bjk,bkl,b->bil", {{2, 3, 2}, {2, 2, 3}, {2, 3, 4}, {2}}),
                      sample("...i,ij,...j->...", {{2, 3}, {3, 4}, {2, 4}}),
                      sample("ij,jk,ik", {{2, 3}, {3, 4}, {2, 4}})},
          .reference = einsum,
          .label = "many",
          .types = {kFloat32, kFloat64, kInt32},
          .units = 64,
          .floor = 4}},
        {"Einsum",
         {.samples = {sample("ij,jk->ik", {{2, 3}, {3, 4}}),
                      sample("ij,jk", {{2, 3}, {3, 2}}),
                      sample("ij,kj->ki", {{2, 3}, {4, 3}}),
                      sample("ji,jk->ik", {{3, 2}, {3, 2}}),
                      sample("ji,kj->ik", {{3, 2}, {2, 3}}),
                      sample("bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}}),
                      sample("bij,jk->bik", {{2, 2, 3}, {3, 2}}),
                      sample("bhqd,bhkd->bhqk", {{1, 2, 2, 3}, {1, 2, 3, 3}}),
                      sample("btd,dhk->bhtk", {{2, 2, 3}, {3, 2, 2}}),
                      sample("ijk,kji->", {{2, 3, 2}, {2, 3, 2}}),
                      sample("ab,cd->acbd", {{2, 2}, {2, 3}}),
                      sample("i,j->ij", {{2}, {3}}),
                      sample("i,i->", {{4}, {4}}),
                      sample("i,i->i", {{4}, {4}}),
                      sample("i,->i", {{3}, {}}),
                      sample(",->", {{}, {}}),
                      sample("ij,j->i", {{2, 3}, {3}}),
                      sample("j,ij->i", {{3}, {2, 3}}),
                      sample("ijm,jkn->ik", {{2, 3, 2}, {3, 2, 2}}),
                      sample("aab,bcc->ac", {{2, 2, 3}, {3, 2, 2}}),
                      sample("abcd,cdef->abef", {{2, 1, 2, 2}, {2, 2, 1, 2}}),
                      sample("ij,jk->ik", {{2, 0}, {0, 3}})},
          .reference = einsum,
          .errors = {error("ij,jk->ik", {{2, 3}, {4, 2}}, "j: expected equal dimensions, got 3 and 4"),
                     error("bi,bi->bi", {{2, 3}, {1, 3}}, "b: expected equal dimensions, got 2 and 1"),
                     error("ij,j...->i", {{2, 3}, {3, 2}}, "equation: expected an ellipsis in the output")},
          .label = "two",
          .types = {kFloat32, kFloat64, kInt32, kInt64},
          .units = 16,
          .floor = 4}},
        {"Einsum",
         {.samples = {sample("...ij->...ji", {{2, 1, 2, 3}}),
                      sample("i...j->...", {{2, 3, 2}}),
                      sample("i...->...i", {{2, 3, 1}}),
                      sample("...->...", {{2, 3}}),
                      sample("i...i->...", {{2, 3, 2}}),
                      sample("...ij,...jk->...ik", {{2, 2, 3}, {2, 3, 2}}),
                      sample("...ij,...jk->...ik", {{2, 1, 2, 3}, {3, 3, 1}}),
                      sample("...ij,jk->...ik", {{2, 2, 3}, {3, 2}}),
                      sample("...ij,jk->i...k", {{2, 2, 3}, {3, 2}}),
                      sample("ij,...jk->...ik", {{2, 3}, {2, 3, 2}}),
                      sample("...i,...j->...ij", {{2, 1, 3}, {2, 2}}),
                      sample("...,...->...", {{2, 1}, {3}}),
                      sample("...b,b...->...", {{2, 3}, {3, 2}}),
                      sample("...,->...", {{2, 3}, {}}),
                      sample("ab...,bc->ac...", {{2, 3, 2}, {3, 2}}),
                      sample("ab,bc->ac...", {{2, 3}, {3, 2}}),
                      sample("...ab,bc->ac", {{2, 3}, {3, 2}}),
                      sample("...ii->i", {{0, 0}}),
                      sample("...i,...i", {{2, 3}, {3}}),
                      sample("b...i,b...j->b...", {{2, 2, 2}, {2, 1, 3}})},
          .reference = einsum,
          .label = "ellipsis",
          .types = {kFloat32, kFloat64, kInt32, kInt64},
          .units = 16,
          .floor = 4}},
    });

}  // namespace
}  // namespace panto::test::einsum_rows
