#include "panto/lib/core/op/signature.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

#include "panto/lib/base/format.h"

namespace panto {
namespace {

struct TypeWord {
  std::string_view word;
  DTypeSet set;
};

constexpr TypeWord kTypeWords[] = {
    {"any", dtypes::kAny},       {"plain", dtypes::kPlain},       {"numeric", dtypes::kNumeric},
    {"real", dtypes::kReal},     {"floating", dtypes::kFloating}, {"integer", dtypes::kInteger},
    {"signed", dtypes::kSigned}, {"index", dtypes::kIndex},       {"complex", dtypes::kComplex},
};

struct KindWord {
  std::string_view word;
  AttrKind kind;
};

constexpr KindWord kKindWords[] = {
    {"int", AttrKind::kInt},       {"float", AttrKind::kFloat}, {"bool", AttrKind::kBool},
    {"string", AttrKind::kString}, {"shape", AttrKind::kShape}, {"tensor", AttrKind::kTensor},
    {"func", AttrKind::kFunc},     {"type", AttrKind::kType},
};

AttrKind list_of(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return AttrKind::kIntList;
    case AttrKind::kFloat: return AttrKind::kFloatList;
    case AttrKind::kBool: return AttrKind::kBoolList;
    case AttrKind::kType: return AttrKind::kTypeList;
    case AttrKind::kString: return AttrKind::kStringList;
    case AttrKind::kShape: return AttrKind::kShapeList;
    default: return AttrKind::kNone;
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Signature parse() {
    signature_.name = word("the op's name");
    expect('(');
    raw_inputs_ = args();
    if (accept(';')) attrs();
    expect(')');
    expect('-');
    expect('>');
    expect('(');
    raw_outputs_ = args();
    expect(')');
    if (peek() != '\0') error("the end");
    signature_.inputs = resolve(raw_inputs_, true);
    signature_.outputs = resolve(raw_outputs_, false);
    auto is_list = [](const ArgDef& a) { return a.is_list(); };
    signature_.has_input_lists = std::ranges::any_of(signature_.inputs, is_list);
    signature_.has_output_lists = std::ranges::any_of(signature_.outputs, is_list);
    signature_.one_type = one_type(signature_);
    return std::move(signature_);
  }

 private:
  static int one_type(const Signature& s) {
    if (s.inputs.empty() || s.inputs[0].type_attr < 0) return -1;
    const int type = s.inputs[0].type_attr;
    const auto has_the_type = [&](const ArgDef& a) { return a.type_attr == type && !a.is_list(); };
    if (!std::ranges::all_of(s.inputs, has_the_type) || !std::ranges::all_of(s.outputs, has_the_type)) return -1;
    for (int i = 0; const AttrDef& def : s.attrs) {
      if (i++ != type && !(def.kind == AttrKind::kBool && def.has_default())) return -1;
    }
    return type;
  }

  struct RawArg {
    std::string name, number, type;
    bool host = false;
    std::string cpp_default;
  };

  [[noreturn]] void error(std::string_view expected) {
    const std::string got = at_ < text_.size() ? std::string(text_.substr(at_, 12)) : "the end";
    invalid("signature \"{}\", column {}: expected {}, got '{}'", text_, at_ + 1, expected, got);
  }
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(std::string("'") + c + "'");
  }
  std::string word(std::string_view what) {
    peek();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    if (at_ == begin) error(what);
    return std::string(text_.substr(begin, at_ - begin));
  }
  // As `quote` writes it, which AttrValue::to_string uses.
  std::string quoted() {
    expect('"');
    std::string value;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        value += text_[at_];
      } else if (++at_ == text_.size()) {
        break;
      } else if (text_[at_] == 'n') {
        value += '\n';
      } else if (text_[at_] == 't') {
        value += '\t';
      } else if (text_[at_] == 'r') {
        value += '\r';
      } else if (text_[at_] == 'x') {
        unsigned code = 0;
        const char* first = text_.data() + at_ + 1;
        if (text_.size() - at_ < 3 || std::from_chars(first, first + 2, code, 16).ptr != first + 2) {
          error("two hexadecimal digits after \\x");
        }
        value += static_cast<char>(code);
        at_ += 2;
      } else {
        value += text_[at_];
      }
    }
    if (at_ >= text_.size()) error("a closing quote");
    ++at_;
    return value;
  }
  int64_t integer() {
    peek();
    int64_t value = 0;
    const auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (ec != std::errc()) error("an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  float real() {
    peek();
    float value = 0;
    const auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (ec != std::errc()) error("a number");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::vector<RawArg> args() {
    std::vector<RawArg> result;
    if (peek() == ')' || peek() == ';') return result;
    do {
      RawArg a;
      a.name = word("an argument's name");
      expect(':');
      a.type = word("a type");
      if (accept('*')) {
        a.number = std::move(a.type);
        a.type = word("a type");
      }
      if (accept('@')) {
        if (word("host") != "host") error("host");
        a.host = true;
      }
      if (accept('=')) a.cpp_default = cpp_default();
      result.push_back(std::move(a));
    } while (accept(','));
    return result;
  }
  std::string cpp_default() {
    peek();
    const size_t begin = at_;
    if (text_[begin] == '{') {
      const size_t end = text_.find('}', begin);
      if (end == std::string_view::npos) error("a closing brace");
      at_ = end + 1;
    } else {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ';' && text_[at_] != ')') ++at_;
    }
    std::string value(text_.substr(begin, at_ - begin));
    while (!value.empty() && value.back() == ' ') value.pop_back();
    return value;
  }

  void attrs() {
    do {
      AttrDef a;
      a.name = word("an attribute's name");
      if (signature_.find_attr(a.name) >= 0) error("an attribute's name that is not taken");
      expect(':');
      domain(a);
      if (accept('>')) {
        expect('=');
        a.has_minimum = true;
        a.minimum = integer();
      }
      if (accept('=')) a.default_value = default_for(a.kind);
      signature_.attr_hashes.push_back(AttrName::hash_of(a.name));
      signature_.attrs.push_back(std::move(a));
    } while (accept(','));
  }
  void domain(AttrDef& a) {
    if (accept('{')) {
      a.kind = AttrKind::kString;
      do a.allowed_strings.push_back(quoted());
      while (accept(','));
      expect('}');
      return;
    }
    const std::string first = word("a kind or a type set");
    if (first == "list") {
      expect('(');
      const std::string item = word("a kind");
      for (const KindWord& k : kKindWords) {
        if (k.word == item) a.kind = list_of(k.kind);
      }
      if (a.kind == AttrKind::kNone) error("a kind of list");
      expect(')');
      return;
    }
    for (const KindWord& k : kKindWords) {
      if (k.word == first) {
        a.kind = k.kind;
        return;
      }
    }
    a.kind = AttrKind::kType;
    a.allowed_types = type_set(first);
    while (peek() == '|' || peek() == '-') {
      const bool remove = text_[at_++] == '-';
      const DTypeSet more = type_set(word("a type"));
      a.allowed_types = remove ? a.allowed_types - more : a.allowed_types | more;
    }
  }
  DTypeSet type_set(const std::string& name) {
    for (const TypeWord& t : kTypeWords) {
      if (t.word == name) return t.set;
    }
    const DType t = parse_dtype(name);
    if (t == DType::kInvalid) {
      at_ -= name.size();
      error("a kind, a dtype or a set of dtypes");
    }
    return DTypeSet{t};
  }
  AttrValue default_for(AttrKind kind) {
    switch (kind) {
      case AttrKind::kInt: return AttrValue(integer());
      case AttrKind::kFloat: return AttrValue(real());
      case AttrKind::kBool: return AttrValue(boolean());
      case AttrKind::kString: return AttrValue(quoted());
      case AttrKind::kType: {
        const DType t = parse_dtype(word("a dtype"));
        if (t == DType::kInvalid) error("a dtype");
        return AttrValue(t);
      }
      case AttrKind::kShape:
        if (accept('?')) return AttrValue(PartialShape());
        return AttrValue(PartialShape(list<int64_t>([this] { return integer(); })));
      case AttrKind::kIntList: return AttrValue(list<int64_t>([this] { return integer(); }));
      case AttrKind::kFloatList: return AttrValue(list<float>([this] { return real(); }));
      case AttrKind::kBoolList: return AttrValue(list<uint8_t>([this] { return uint8_t{boolean()}; }));
      case AttrKind::kStringList: return AttrValue(list<std::string>([this] { return quoted(); }));
      case AttrKind::kTypeList: return AttrValue(list<DType>([this] { return parse_dtype(word("a dtype")); }));
      default: error("no default (this kind cannot have one)");
    }
  }
  bool boolean() {
    const std::string value = word("true or false");
    if (value != "true" && value != "false") error("true or false");
    return value == "true";
  }
  template <class T, class Item>
  std::vector<T> list(Item item) {
    std::vector<T> values;
    expect('[');
    if (accept(']')) return values;
    do values.push_back(item());
    while (accept(','));
    expect(']');
    return values;
  }

  std::vector<ArgDef> resolve(const std::vector<RawArg>& raw, bool inputs) {
    std::vector<ArgDef> result;
    for (const RawArg& r : raw) {
      ArgDef a;
      a.name = r.name;
      a.host = r.host;
      a.cpp_default = r.cpp_default;
      if (!r.number.empty()) {
        a.number_attr = signature_.find_attr(r.number);
        if (a.number_attr < 0 || attr(a.number_attr).kind != AttrKind::kInt) {
          invalid("signature of {}: expected '{}' of argument '{}' to be an int attribute", signature_.name, r.number,
                  r.name);
        }
        if (inputs) attr(a.number_attr).inferred = true;
        if (!attr(a.number_attr).has_minimum) {
          attr(a.number_attr).has_minimum = true;
          attr(a.number_attr).minimum = 1;
        }
      }
      const int type = signature_.find_attr(r.type);
      if (type < 0) {
        a.dtype = parse_dtype(r.type);
        if (a.dtype == DType::kInvalid) {
          invalid("signature of {}: expected the type of argument '{}' to be a dtype or an attribute, got '{}'",
                  signature_.name, r.name, r.type);
        }
      } else if (attr(type).kind == AttrKind::kTypeList) {
        a.type_list_attr = type;
        if (inputs) attr(type).inferred = true;
        if (!attr(type).has_minimum) {
          attr(type).has_minimum = true;
          attr(type).minimum = 1;
        }
      } else if (attr(type).kind == AttrKind::kType) {
        a.type_attr = type;
        if (inputs) attr(type).inferred = true;
      } else {
        invalid("signature of {}: expected attribute '{}' of argument '{}' to hold a type", signature_.name, r.type,
                r.name);
      }
      result.push_back(std::move(a));
    }
    return result;
  }
  AttrDef& attr(int i) { return signature_.attrs[static_cast<size_t>(i)]; }

  std::string_view text_;
  size_t at_ = 0;
  Signature signature_;
  std::vector<RawArg> raw_inputs_, raw_outputs_;
};

std::string type_set_text(DTypeSet set) {
  for (const TypeWord& t : kTypeWords) {
    if (t.set == set) return std::string(t.word);
  }
  std::string text;
  for (int i = 0; i < kDTypeSlots; ++i) {
    const auto t = static_cast<DType>(i);
    if (set.contains(t)) text.append(text.empty() ? "" : "|").append(dtype_name(t));
  }
  return text;
}

std::string arg_text(const Signature& s, const ArgDef& a) {
  std::string text = a.name + ": ";
  if (a.number_attr >= 0) text += s.attrs[static_cast<size_t>(a.number_attr)].name + "*";
  const int type = a.type_attr >= 0 ? a.type_attr : a.type_list_attr;
  text += type >= 0 ? s.attrs[static_cast<size_t>(type)].name : std::string(dtype_name(a.dtype));
  if (a.host) text += " @host";
  return text;
}

std::string attr_text(const AttrDef& a) {
  std::string text = a.name + ": ";
  if (!a.allowed_strings.empty()) {
    text += "{";
    for (const std::string& s : a.allowed_strings)
      text.append(text.back() == '{' ? "\"" : ", \"").append(s).append("\"");
    text += "}";
  } else {
    text += a.kind == AttrKind::kType ? type_set_text(a.allowed_types) : std::string(attr_kind_name(a.kind));
  }
  if (a.has_minimum) text += " >= " + std::to_string(a.minimum);
  if (a.has_default()) text += " = " + a.default_value.to_string();
  return text;
}

}  // namespace

int Signature::find_attr(std::string_view attr_name) const {
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == attr_name) return static_cast<int>(i);
  }
  return -1;
}

std::string Signature::to_string() const {
  std::string text = name + "(";
  for (size_t i = 0; i < inputs.size(); ++i) text.append(i > 0 ? ", " : "").append(arg_text(*this, inputs[i]));
  for (size_t i = 0; i < attrs.size(); ++i) text.append(i > 0 ? ", " : "; ").append(attr_text(attrs[i]));
  text += ") -> (";
  for (size_t i = 0; i < outputs.size(); ++i) text.append(i > 0 ? ", " : "").append(arg_text(*this, outputs[i]));
  return text + ")";
}

Signature parse_signature(std::string_view text) { return Parser(text).parse(); }

}  // namespace panto
