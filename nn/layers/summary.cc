#include "panto/nn/layers/summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "panto/lib/base/text/demangle.h"
#include "panto/lib/base/text/format.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using Shapes = std::map<const void*, PartialShape>;  // by identity_of: copies of a layer share one entry
thread_local constinit Shapes* noted = nullptr;

class NoteShapes {
 public:
  explicit NoteShapes(Shapes& shapes) : outer_(std::exchange(noted, &shapes)) {}
  ~NoteShapes() { noted = outer_; }
  NoteShapes(const NoteShapes&) = delete;
  NoteShapes& operator=(const NoteShapes&) = delete;

 private:
  Shapes* outer_;
};

// As Keras: "(None, 128)".
std::string tuple_text(const PartialShape& shape) {
  if (!shape.known_rank()) return "?";
  std::string text;
  for (int k = 0; k < shape.rank(); ++k) {
    text += (k == 0 ? "" : ", ") + (shape.dim(k) < 0 ? std::string("None") : fmt::format("{}", shape.dim(k)));
  }
  return "(" + text + (shape.rank() == 1 ? ",)" : ")");
}

std::string with_commas(int64_t n) {
  std::string text = fmt::format("{}", n);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string memory_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.2f} {}", bytes, units[unit]);
}

struct Count {
  int64_t elements = 0;
  double bytes = 0;
};
Count count_of(const std::vector<Variable>& variables) {
  Count all;
  for (const Variable& v : variables) {
    all.elements += v.shape().numel();
    all.bytes += static_cast<double>(v.shape().numel()) * static_cast<double>(dtype_size(v.dtype()));
  }
  return all;
}

std::string name_in_table(const Layer& layer) {
  std::string text = layer.to_string();
  return text.empty() || text.find('\n') != std::string::npos ? class_name(layer) + "()" : text;
}

using Row = std::array<std::string, 3>;
using Widths = std::array<size_t, 3>;

std::string repeated(std::string_view mark, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += mark;
  return text;
}
// "┏━━━┳━━━┓": a line between rows.
std::string rule(std::string_view left, std::string_view line, std::string_view between, std::string_view right,
                 const Widths& widths) {
  std::string text(left);
  for (size_t c = 0; c < widths.size(); ++c) {
    if (c > 0) text += between;
    text += repeated(line, widths[c] + 2);
  }
  return text + std::string(right) + "\n";
}
// The last column is right-aligned.
std::string row_text(std::string_view bar, const Row& row, const Widths& widths) {
  std::string text;
  for (size_t c = 0; c < row.size(); ++c) {
    const std::string blanks(widths[c] - row[c].size(), ' ');
    text += std::string(bar) + " " + (c == 2 ? blanks + row[c] : row[c] + blanks) + " ";
  }
  return text + std::string(bar) + "\n";
}

std::string table(const Layer& model, const Shapes& shapes) {
  const Parts own = model.parts();  // it refers to layers
  std::vector<const Layer*> layers = own.layers();
  if (layers.empty()) layers = {&model};
  const Row titles = {"Layer (type)", "Output Shape", "Param #"};
  std::vector<Row> rows;
  Widths widths = {31, 22, 13};  // Keras's widths, if they suffice
  for (const Layer* layer : layers) {
    const auto found = shapes.find(identity_of(*layer));
    const int64_t parameters = count_of(layer->variables()).elements + count_of(layer->state()).elements;
    rows.push_back(
        {name_in_table(*layer), found == shapes.end() ? "?" : tuple_text(found->second), with_commas(parameters)});
    for (size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], rows.back()[c].size());
  }
  std::string text = fmt::format("Model: \"{}\"\n", class_name(model));
  text += rule("┏", "━", "┳", "┓", widths) + row_text("┃", titles, widths) + rule("┡", "━", "╇", "┩", widths);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) text += rule("├", "─", "┼", "┤", widths);
    text += row_text("│", rows[i], widths);
  }
  text += rule("└", "─", "┴", "┘", widths);
  const Count trained = count_of(model.variables()), others = count_of(model.state());
  const auto line = [](const char* what, const Count& count) {
    return fmt::format(" {} params: {} ({})\n", what, with_commas(count.elements), memory_text(count.bytes));
  };
  text += line("Total", {trained.elements + others.elements, trained.bytes + others.bytes});
  return text + line("Trainable", trained) + line("Non-trainable", others);
}

}  // namespace

std::string class_name(const std::type_info& type) {
  std::string name = demangled(type.name());
  const size_t scope = name.rfind("::", name.find('<'));  // drop the scope in front of the class's own name
  if (scope != std::string::npos) name.erase(0, scope + 2);
  return name;
}
std::string class_name(const Layer& layer) { return class_name(typeid(layer)); }

Tensor heard(const Layer& layer, Tensor y) {
  if (noted != nullptr && y.defined()) noted->insert_or_assign(identity_of(layer), y.partial_shape());
  return y;
}

std::string Layer::summary(const PartialShape& input, DType dtype) const {
  Shapes shapes;
  {
    const NoteShapes note(shapes);
    trace([&](const Tensor& x) { return (*this)(x); }, {TensorSpec(dtype, input)});
  }
  return table(*this, shapes);
}
std::string Layer::summary() const { return table(*this, {}); }

}  // namespace panto
