// Calls that TensorFlow made of encoded images, sound and pictures: tests/reference/training/media_cases.py says what
// media.npz holds.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/create.h"

namespace panto::test {

using MediaArrays = std::map<std::string, Tensor>;

inline std::string text_of(const Tensor& bytes) {
  return {static_cast<const char*>(bytes.impl()->data), static_cast<size_t>(bytes.numel())};
}

inline const MediaArrays& media_arrays() {
  static const auto* const arrays = [] {
    auto* all = new MediaArrays;
    for (const auto& [key, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/values/media.npz")) {
      // Others that are equal come before.
      const size_t same = key.find("/=");
      if (same == std::string::npos) {
        (*all)[key] = value;
      } else {
        (*all)[key.substr(0, same + 1) + key.substr(same + 2)] = all->at(text_of(value));
      }
    }
    return all;
  }();
  return *arrays;
}

inline std::string media_file(const std::string& name) { return text_of(media_arrays().at("FILE/" + name)); }

struct MediaCall {
  std::string name, op;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  std::vector<Tensor> in, out;

  std::vector<Tensor> run() const {
    const auto outputs = dispatch::call(op, in, attrs);
    return {outputs.begin(), outputs.end()};
  }
};

template <class T>
T media_number(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

inline std::vector<std::string> media_parts(std::string_view text, char between) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == between) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// What `text` means as an attribute of this kind.
inline AttrValue media_attr(AttrKind kind, const std::string& text) {
  switch (kind) {
    case AttrKind::kInt: return AttrValue(media_number<int64_t>(text));
    case AttrKind::kFloat: return AttrValue(media_number<float>(text));
    case AttrKind::kBool: return AttrValue(text == "true");
    case AttrKind::kType: return AttrValue(parse_dtype(text.substr(std::string("dtype:").size())));
    case AttrKind::kFloatList: {
      std::vector<float> list;
      for (const std::string& part : media_parts(std::string_view(text).substr(1, text.size() - 2), ',')) {
        list.push_back(media_number<float>(part));
      }
      return AttrValue(std::move(list));
    }
    default: return AttrValue(text);
  }
}

inline std::vector<MediaCall> media_calls() {
  std::vector<MediaCall> calls;
  std::map<std::string, size_t> places;
  for (const auto& [key, array] : media_arrays()) {
    const size_t slash = key.rfind('/');
    const std::string name = key.substr(0, slash);
    if (name == "FILE") continue;
    const auto [place, added] = places.emplace(name, calls.size());
    if (added) {
      MediaCall& call = calls.emplace_back();
      call.name = name;
      const std::vector<std::string> parts = media_parts(name.substr(0, name.find('#')), ';');
      call.op = parts[0];
      for (size_t i = 1; i < parts.size(); ++i) {
        const size_t equals = parts[i].find('=');
        const std::string attr = parts[i].substr(0, equals);
        for (const AttrDef& def : get_op(call.op).signature().attrs) {
          if (def.name == attr) call.attrs.emplace_back(attr, media_attr(def.kind, parts[i].substr(equals + 1)));
        }
      }
    }
    MediaCall& call = calls[place->second];
    const char kind = key[slash + 1];
    const auto number = media_number<size_t>(std::string_view(key).substr(slash + 2));
    std::vector<Tensor>& to = kind == 'o' || kind == 't' ? call.out : call.in;
    if (to.size() <= number) to.resize(number + 1);
    to[number] = kind == 'f'                  ? tensor(media_file(text_of(array)))
                 : kind == 's' || kind == 't' ? tensor(text_of(array))
                                              : array;
  }
  return calls;
}

}  // namespace panto::test
