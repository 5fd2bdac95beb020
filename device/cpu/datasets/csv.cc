// CSVDataset: reads the records of CSV files (RFC 4180), with TensorFlow's rules.
#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/device/cpu/datasets/arguments.h"
#include "panto/device/cpu/strings/parsed_number.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto {
namespace {

using namespace datasets;

struct CsvForm {
  std::vector<std::string> files;
  Compression compression = Compression::kNone;
  bool header = false, quotes = true;
  char delimiter = ',';
  std::string missing;
  std::vector<int64_t> columns, left_out;  // in ascending order; empty: all, none
  std::vector<Tensor> defaults;            // each has 0 or 1 elements
};

// Converts a selected field to its component of the element.
Tensor field_tensor(const CsvForm& form, size_t k, std::string field) {
  const Tensor& usual = form.defaults[k];
  const bool missing = field.empty() || field == form.missing;
  if (missing && usual.numel() == 0) invalid("record: expected a value of field {}, which has no default, got none", k);
  if (missing) return usual.rank() == 0 ? shared_tensor(usual) : row_of(usual, 0);
  Tensor t = allocate_tensor(cpu_device(), usual.dtype(), Shape{});
  const auto parse = [&]<class T>(T* to) {
    if (!strings::parse_number(field, *to)) {
      invalid("record: expected field {} as {}, got \"{}\"", k, dtype_name(usual.dtype()), field);
    }
  };
  switch (usual.dtype()) {
    case kInt32: parse(mutable_data<int32_t>(t)); break;
    case kInt64: parse(mutable_data<int64_t>(t)); break;
    case kFloat32: parse(mutable_data<float>(t)); break;
    case kFloat64: parse(mutable_data<double>(t)); break;
    default: *mutable_data<std::string>(t) = std::move(field);
  }
  return t;
}

// Reads the records of one file.
class CsvFile {
 public:
  CsvFile(const CsvForm& form, const std::string& path) : form_(form), file_(path, form.compression) {
    if (!form.header) return;
    ElementTensors nothing;
    if (!read(nothing, true)) invalid("file '{}': expected a header, got none", path);
  }

  // Reads a record. Returns false at the end of the file. If it throws, the record has been consumed.
  bool read(ElementTensors& element, bool pass_over = false) {
    if (at_end()) return false;
    std::exception_ptr fault;
    size_t column = 0, wanted = 0, left_out = 0;
    for (bool last = false; !last; ++column) {
      std::string field;
      const auto number = static_cast<int64_t>(column);
      bool take = !pass_over;
      if (left_out < form_.left_out.size() && form_.left_out[left_out] == number) {
        ++left_out;
        take = false;
      } else if (!form_.columns.empty()) {
        take = take && wanted < form_.columns.size() && form_.columns[wanted] == number;
        if (take) ++wanted;
      }
      try {
        last = read_field(field);
        if (take && element.size() == form_.defaults.size()) {
          invalid("record: expected {} fields, got more", form_.defaults.size());
        }
        if (take) element.push_back(field_tensor(form_, element.size(), std::move(field)));
      } catch (const FaultInField& in) {
        last = in.last;
        if (fault == nullptr && !pass_over) fault = in.fault;
      } catch (const Error&) {
        if (fault == nullptr) fault = std::current_exception();
      }
    }
    if (fault != nullptr) std::rethrow_exception(fault);
    if (!pass_over && element.size() != form_.defaults.size()) {
      invalid("record: expected {} fields, got {}", form_.defaults.size(), element.size());
    }
    return true;
  }

 private:
  // Thrown for a malformed field; `last`: whether it was the last field of its record.
  struct FaultInField {
    std::exception_ptr fault;
    bool last;
  };

  bool at_end() {
    if (at_ < ahead_.size()) return false;
    at_ = 0;
    file_.read(1 << 16, ahead_);
    return ahead_.empty();
  }
  // Consumes the rest of a line end, whose first character was `first`.
  void end_line(char first) {
    if (first == '\r' && !at_end() && ahead_[at_] == '\n') ++at_;
  }

  // Reads a field. Returns whether it was the last field of its record.
  bool read_field(std::string& field) {
    if (at_end()) return true;
    return form_.quotes && ahead_[at_] == '"' ? read_quoted(field) : read_plain(field);
  }
  bool read_plain(std::string& field) {
    bool has_quotes = false, last = true;
    while (!at_end()) {
      const char c = ahead_[at_++];
      if (c == form_.delimiter) {
        last = false;
        break;
      }
      if (c == '\n' || c == '\r') {
        end_line(c);
        break;
      }
      has_quotes = has_quotes || (form_.quotes && c == '"');
      field += c;
    }
    if (has_quotes) fail_field(last, "record: expected a field in quotes where it has quotes, got another");
    return last;
  }
  bool read_quoted(std::string& field) {
    ++at_;
    bool odd = false;
    for (;;) {
      if (at_end()) fail_field(true, "record: expected the end of a field in quotes, got that of the file");
      const char c = ahead_[at_++];
      if (c != '"') {
        field += c;
        continue;
      }
      bool last = true;
      if (!at_end()) {
        const char next = ahead_[at_++];
        if (next == '"') {
          field += '"';
          continue;
        }
        if (next == form_.delimiter) {
          last = false;
        } else if (next == '\n' || next == '\r') {
          end_line(next);
        } else {
          odd = true;
          continue;
        }
      }
      if (odd) fail_field(last, "record: expected two quotes for one inside of a field, got one");
      return last;
    }
  }
  [[noreturn]] static void fail_field(bool last, const char* text) {
    throw FaultInField{std::make_exception_ptr(Error(Code::kInvalidArgument, text)), last};
  }

  const CsvForm& form_;
  InputStream file_;
  std::string ahead_;
  size_t at_ = 0;
};

DatasetHandle csv_dataset(CsvForm form, ElementSpec spec) {
  return simple_dataset("CSVDataset", std::move(spec), {},
                        {.begin = [form = std::move(form)](const DatasetValue&) -> ElementFunctionOfPass {
                          return [&form, at = size_t{0},
                                  file = std::shared_ptr<CsvFile>()](ElementTensors& element) mutable {
                            for (;;) {
                              if (file == nullptr) {
                                if (at == form.files.size()) return false;
                                const std::string& path = form.files[at++];  // skips a file that fails
                                expect_graph_files_allowed(path);
                                file = std::make_shared<CsvFile>(form, path);
                              }
                              if (file->read(element)) return true;
                              file.reset();
                            }
                          };
                        }});
}

void expect_ascending(const std::vector<int64_t>& columns, std::string_view what) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const int64_t least = i == 0 ? 0 : columns[i - 1] + 1;
    if (columns[i] < least) invalid("{}: expected numbers of at least 0 in ascending order, got {}", what, columns[i]);
  }
}

void csv(KernelContext& c, std::vector<int64_t> left_out) {
  const DatasetArguments a(c);
  CsvForm form{.files = a.texts(0),
               .compression = compression_named(a.text(1)),
               .header = a.flag(3),
               .quotes = a.flag(5),
               .missing = a.text(6),
               .columns = a.integers(7),
               .left_out = std::move(left_out),
               .defaults = a.tensors(8)};
  const std::string& delimiter = a.text(4);
  if (delimiter.size() != 1) invalid("field_delim: expected one character, got \"{}\"", delimiter);
  form.delimiter = delimiter[0];
  expect_ascending(form.columns, "select_cols");
  expect_ascending(form.left_out, "exclude_cols");
  if (!form.columns.empty() && !form.left_out.empty()) {
    invalid("select_cols: expected none beside exclude_cols, got {}", form.columns.size());
  }
  if (!form.columns.empty() && form.columns.size() != form.defaults.size()) {
    invalid("select_cols: expected {}, as many as record_defaults, got {}", form.defaults.size(), form.columns.size());
  }
  for (size_t k = 0; k < form.defaults.size(); ++k) {
    const Shape& shape = form.defaults[k].shape();
    constexpr DTypeSet kTypes{kFloat32, kFloat64, kInt32, kInt64, kString};
    if (!kTypes.contains(form.defaults[k].dtype())) {
      invalid("record_defaults: expected {}, got {}", whole(dtype_set_text(kTypes)),
              dtype_name(form.defaults[k].dtype()));
    }
    if (shape.rank() > 1 || shape.numel() > 1) {
      invalid("record_defaults: expected at most one value for field {}, got {}", k, shape.to_string());
    }
  }
  give_dataset(c, csv_dataset(std::move(form), a.spec()));
}

void run_csv(KernelContext& c) { csv(c, {}); }
void run_csv_2(KernelContext& c) { csv(c, DatasetArguments(c).integers(9)); }

const CpuKernel csv_kernel("CSVDataset", run_csv);
const CpuKernel csv_2_kernel("CSVDatasetV2", run_csv_2);

}  // namespace
}  // namespace panto
