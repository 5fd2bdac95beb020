#include "panto/lib/core/op/signature_grammar.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace panto {
namespace {

struct TypeWord {
  std::string_view word;
  DTypeSet set;
};

constexpr TypeWord kTypeWords[] = {
    {"any", dtypes::kAny},           {"plain", dtypes::kPlain},
    {"numeric", dtypes::kNumeric},   {"real", dtypes::kReal},
    {"floating", dtypes::kFloating}, {"integer", dtypes::kInteger},
    {"signed", dtypes::kSigned},     {"index", dtypes::kIndex},
    {"complex", dtypes::kComplex},   {"quantized", dtypes::kQuantized},
};

// The functions of <cctype> depend on the locale.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  SignatureSyntax parse() {
    signature_.name = word("the op's name");
    expect('(');
    const std::vector<Arg> inputs = args(true);
    if (accept(';')) attrs();
    expect(')');
    expect('-');
    expect('>');
    expect('(');
    const std::vector<Arg> outputs = args(false);
    expect(')');
    peek();
    if (at_ < text_.size()) error("the end");
    for (const Arg& a : inputs) signature_.inputs.push_back(resolve(a, true));
    for (const Arg& a : outputs) signature_.outputs.push_back(resolve(a, false));
    return std::move(signature_);
  }

 private:
  // An argument as written, before its type is resolved: the attributes come after the inputs.
  struct Arg {
    ArgSyntax syntax;
    std::string number, type;
    size_t number_at = 0, type_at = 0;
  };

  // A kind of attribute, and the function that reads one item of a default; null if it has no defaults.
  struct Kind {
    std::string_view word;
    bool in_lists;
    std::string (Parser::*read)();
  };
  static const Kind* find_kind(std::string_view word);

  [[noreturn]] void error(std::string_view expected) const {
    SignatureFault fault;
    fault.column = at_ + 1;
    fault.expected = expected;
    fault.got = at_ < text_.size() ? text_.substr(at_, 12) : "the end";
    throw fault;
  }
  [[noreturn]] void error_at(size_t at, std::string_view expected) {
    at_ = at;
    error(expected);
  }
  // Throws a fault in the meaning of a text.
  [[noreturn]] void wrong(size_t at, std::string expected, std::string got = "") const {
    SignatureFault fault;
    fault.column = at + 1;
    fault.op = signature_.name;
    fault.expected = std::move(expected);
    fault.got = std::move(got);
    throw fault;
  }

  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
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
  // The position where the next word begins.
  size_t next() {
    peek();
    return at_;
  }
  std::string word(std::string_view what) {
    const size_t begin = next();
    if (begin < text_.size() && is_digit(text_[begin])) error(what);
    while (at_ < text_.size() && (is_alnum(text_[at_]) || text_[at_] == '_')) ++at_;
    if (at_ == begin) error(what);
    return std::string(text_.substr(begin, at_ - begin));
  }
  // Reads a string as `quote` writes it (lib/base/text/quote.h); AttrValue::to_string uses that form.
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
  template <class T>
  T number(std::string_view what) {
    peek();
    T value = 0;
    const auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (ec != std::errc()) error(what);
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  std::string integer() { return std::to_string(number<int64_t>("an integer")); }
  std::string dimension() { return accept('?') ? "?" : integer(); }
  // Kept as written: the precision of the number is decided elsewhere.
  std::string real() {
    const size_t begin = next();
    number<float>("a number");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string boolean() {
    const size_t begin = next();
    std::string value = word("true or false");
    if (value != "true" && value != "false") error_at(begin, "true or false");
    return value;
  }
  std::string dtype() {
    const size_t begin = next();
    const DType t = parse_dtype(word("a dtype"));
    if (t == DType::kInvalid) error_at(begin, "a dtype");
    return std::string(dtype_name(t));
  }

  std::vector<Arg> args(bool inputs) {
    std::vector<Arg> result;
    if (peek() == ')' || peek() == ';') return result;
    do {
      Arg a;
      const size_t begin = next();
      a.syntax.name = word("an argument's name");
      const auto same_name = [&a](const Arg& other) { return other.syntax.name == a.syntax.name; };
      if (std::ranges::any_of(result, same_name)) error_at(begin, "an argument's name that is not taken");
      if (inputs) input_names_.push_back(a.syntax.name);
      expect(':');
      a.type_at = next();
      a.type = word("a type");
      if (accept('*')) {
        a.number = std::move(a.type);
        a.number_at = std::exchange(a.type_at, next());
        a.type = word("a type");
      }
      if (accept('@')) {
        const size_t host = next();
        if (word("host") != "host") error_at(host, "host");
        a.syntax.host = true;
      }
      if (inputs && accept('=')) a.syntax.cpp_default = cpp_default();
      result.push_back(std::move(a));
    } while (accept(','));
    return result;
  }
  std::string cpp_default() {
    if (accept('{')) {
      std::string value = "{";
      if (!accept('}')) {
        do value.append(value.size() > 1 ? ", " : "").append(integer());
        while (accept(','));
        expect('}');
      }
      return value + "}";
    }
    constexpr std::string_view what = "an integer, integers in braces, or all";
    const size_t begin = next();
    if (!is_lower(peek())) return std::to_string(number<int64_t>(what));
    if (word(what) != "all") error_at(begin, what);
    return "all";
  }

  void attrs() {
    do {
      AttrSyntax a;
      const size_t begin = next();
      a.name = word("an attribute's name");
      if (signature_.find_attr(a.name) >= 0 || std::ranges::find(input_names_, a.name) != input_names_.end()) {
        error_at(begin, "an attribute's name that is not taken");
      }
      expect(':');
      domain(a);
      if (accept('>')) {
        expect('=');
        a.minimum = number<int64_t>("an integer");
      }
      if (accept('=')) a.default_value = default_for(a.kind);
      signature_.attrs.push_back(std::move(a));
    } while (accept(','));
  }
  void domain(AttrSyntax& a) {
    if (accept('{')) {
      a.kind = "string";
      do a.allowed_strings.push_back(quoted());
      while (accept(','));
      expect('}');
      return;
    }
    const size_t begin = next();
    const std::string first = word("a kind or a type set");
    if (first == "list") {
      expect('(');
      const size_t item_at = next();
      const std::string item = word("a kind");
      const Kind* kind = find_kind(item);
      if (kind == nullptr || !kind->in_lists) error_at(item_at, "a kind of list");
      expect(')');
      a.kind = "list(" + item + ")";
      return;
    }
    // float, bool and string are kinds, but types if more words follow.
    const bool more = peek() == '|' || peek() == '-';
    if (!more && find_kind(first) != nullptr) {
      a.kind = first;
      return;
    }
    a.kind = "type";
    a.allowed_types = {};
    add(a, '|', first, begin);
    while (peek() == '|' || peek() == '-') {
      const char sign = text_[at_++];
      const size_t at = next();
      add(a, sign, word("a type"), at);
    }
  }
  void add(AttrSyntax& a, char sign, const std::string& name, size_t at) {
    const auto known = std::ranges::find(kTypeWords, name, &TypeWord::word);
    DTypeSet set;
    if (known != std::end(kTypeWords)) {
      set = known->set;
      a.types.push_back({sign, name, true});
    } else {
      const DType t = parse_dtype(name);
      if (t == DType::kInvalid) error_at(at, "a kind, a dtype or a set of dtypes");
      set = DTypeSet{t};
      a.types.push_back({sign, std::string(dtype_name(t)), false});
    }
    a.allowed_types = sign == '-' ? a.allowed_types - set : a.allowed_types | set;
  }

  ValueSyntax default_for(std::string_view kind) {
    if (kind == "shape") return accept('?') ? ValueSyntax{false, {"?"}} : list(&Parser::dimension);
    const bool is_list = kind.starts_with("list(");
    const Kind* item = find_kind(is_list ? kind.substr(5, kind.size() - 6) : kind);
    const bool only_empty = kind == "list(shape)";
    if (item->read == nullptr && !only_empty) error("no default (this kind cannot have one)");
    if (only_empty) {
      expect('[');
      expect(']');
      return {true, {}};
    }
    return is_list ? list(item->read) : ValueSyntax{false, {(this->*item->read)()}};
  }
  ValueSyntax list(std::string (Parser::*read)()) {
    ValueSyntax value{true, {}};
    expect('[');
    if (accept(']')) return value;
    do value.items.push_back((this->*read)());
    while (accept(','));
    expect(']');
    return value;
  }

  ArgSyntax resolve(const Arg& arg, bool input) {
    ArgSyntax a = arg.syntax;
    const std::string of = " of argument '" + a.name + "'";
    if (!arg.number.empty()) {
      a.number_attr = signature_.find_attr(arg.number);
      if (a.number_attr < 0 || attr(a.number_attr).kind != "int") {
        wrong(arg.number_at, "'" + arg.number + "'" + of + " to be an int attribute");
      }
      if (input) attr(a.number_attr).inferred = true;
    }
    a.type_attr = signature_.find_attr(arg.type);
    if (a.type_attr < 0) {
      a.dtype = parse_dtype(arg.type);
      if (a.dtype == DType::kInvalid) {
        wrong(arg.type_at, "the type" + of + " to be a dtype or an attribute", arg.type);
      }
    } else {
      AttrSyntax& type = attr(a.type_attr);
      if (type.kind != "type" && type.kind != "list(type)") {
        wrong(arg.type_at, "attribute '" + arg.type + "'" + of + " to hold a type");
      }
      if (input) type.inferred = true;
    }
    a.is_list = a.number_attr >= 0 || (a.type_attr >= 0 && attr(a.type_attr).kind == "list(type)");
    return a;
  }
  AttrSyntax& attr(int i) { return signature_.attrs[static_cast<size_t>(i)]; }

  std::string_view text_;
  size_t at_ = 0;
  SignatureSyntax signature_;
  std::vector<std::string> input_names_;
};

const Parser::Kind* Parser::find_kind(std::string_view word) {
  static constexpr Kind kinds[] = {
      {"int", true, &Parser::integer},   {"float", true, &Parser::real}, {"bool", true, &Parser::boolean},
      {"string", true, &Parser::quoted}, {"shape", true, nullptr},       {"tensor", false, nullptr},
      {"func", true, nullptr},           {"type", true, &Parser::dtype},
  };
  const auto found = std::ranges::find(kinds, word, &Kind::word);
  return found == std::end(kinds) ? nullptr : found;
}

}  // namespace

int SignatureSyntax::find_attr(std::string_view attr_name) const {
  const auto found = std::ranges::find(attrs, attr_name, &AttrSyntax::name);
  return found == attrs.end() ? -1 : static_cast<int>(found - attrs.begin());
}

SignatureSyntax read_signature(std::string_view text) { return Parser(text).parse(); }

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

std::string_view without_version(std::string_view op_name) {
  size_t end = op_name.size();
  while (end > 0 && is_digit(op_name[end - 1])) --end;
  const bool versioned = end < op_name.size() && end > 1 && op_name[end - 1] == 'V' && is_alnum(op_name[end - 2]);
  return versioned ? op_name.substr(0, end - 1) : op_name;
}

std::string function_name(std::string_view op_name) {
  const std::string_view name = without_version(op_name);
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && is_upper(name[i])) {
      const char before = name[i - 1];
      const bool word_follows = i + 1 < name.size() && is_lower(name[i + 1]);
      if (is_lower(before) || (word_follows && (is_upper(before) || is_digit(before)))) result += '_';
    }
    result += to_lower(name[i]);
  }
  return result;
}

}  // namespace panto
