#include "panto/lib/core/datasets/file_datasets.h"

#include <glob.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/datasets/simple_dataset.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::datasets {
namespace {

ElementSpec one_string() { return {{kString}, {Shape{}}}; }

Tensor text_tensor(std::string text) {
  Tensor t = allocate_tensor(cpu_device(), kString, Shape{});
  *mutable_data<std::string>(t) = std::move(text);
  return t;
}

// Reads one file after the other. `open(i)` returns a function that reads the next piece of file i, and returns false
// at its end.
using Pieces = Callable<bool(std::string& piece)>;
DatasetHandle dataset_of_files(std::string name, std::vector<std::string> files,
                               Callable<Pieces(size_t, const std::string&)> open) {
  return simple_dataset(
      std::move(name), one_string(), {},
      {.begin = [files = std::move(files), open = std::move(open)](const DatasetValue&) -> ElementFunctionOfPass {
        return [&files, &open, at = size_t{0}, pieces = Pieces()](ElementTensors& element) mutable {
          for (std::string piece;;) {
            if (!pieces) {
              if (at == files.size()) return false;
              // After an error, the next call continues with the next file.
              const size_t i = at++;
              expect_graph_files_allowed(files[i]);
              pieces = open(i, files[i]);
            }
            bool more = false;
            try {
              more = pieces(piece);
            } catch (...) {
              pieces = nullptr;
              throw;
            }
            if (more) {
              element.push_back(text_tensor(std::move(piece)));
              return true;
            }
            pieces = nullptr;
          }
        };
      }});
}

// Reads fixed-length records. Reads ahead by the size of the footer, to recognise it.
class FixedLengthPieces {
 public:
  FixedLengthPieces(const std::string& path, const FixedLengthRecords& form)
      : form_(form), file_(path, form.compression) {
    const auto header = static_cast<uint64_t>(form.header_bytes);
    if (form.compression == Compression::kNone) {  // the size is known before anything is read
      const uint64_t size = RandomAccessFile(path).size(), rest = header + static_cast<uint64_t>(form.footer_bytes);
      const auto record = static_cast<uint64_t>(form.record_bytes);
      if (size < rest || (size - rest) % record != 0) {
        invalid("file '{}': expected {} bytes and whole records of {}, got {} in all", path, rest, record, size);
      }
    }
    const uint64_t skipped = file_.skip(header);
    if (skipped != header) invalid("file '{}': expected a header of {} bytes, got {}", path, header, skipped);
  }
  bool next(std::string& record) {
    const auto size = static_cast<uint64_t>(form_.record_bytes), footer = static_cast<uint64_t>(form_.footer_bytes);
    std::string more;
    file_.read(size + footer - ahead_.size(), more);
    ahead_ += more;
    if (ahead_.size() == size + footer) {
      record = ahead_.substr(0, size);
      ahead_.erase(0, size);
      return true;
    }
    if (ahead_.size() != footer) {
      invalid("file '{}': expected whole records of {} bytes and a footer of {}, got {} bytes at the end", file_.path(),
              size, footer, ahead_.size());
    }
    return false;
  }

 private:
  FixedLengthRecords form_;
  InputStream file_;
  std::string ahead_;
};

void add_matching(const std::string& pattern, std::vector<std::string>& to) {
  if (pattern.find('\0') != std::string::npos) invalid("pattern: expected text without a 0, got \"{}\"", pattern);
  expect_graph_files_allowed(pattern);
  glob_t found = {};
  const struct Free {
    glob_t& found;
    ~Free() { globfree(&found); }
  } free{found};
  const int status = glob(pattern.c_str(), GLOB_NOSORT | GLOB_PERIOD, nullptr, &found);
  if (status == GLOB_NOMATCH) return;
  if (status != 0)
    failf(Code::kResourceExhausted, "pattern \"{}\": expected paths, got an error of the system's glob", pattern);
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    std::string path = found.gl_pathv[i];
    if (path.ends_with("/.") || path.ends_with("/..") || path == "." || path == "..") continue;
    to.push_back(std::move(path));
  }
}

}  // namespace

DatasetHandle tf_record_dataset(std::vector<std::string> files, Compression compression, std::vector<int64_t> offsets) {
  if (!offsets.empty() && offsets.size() != files.size()) {
    invalid("byte_offsets: expected {}, one for each file, got {}", files.size(), offsets.size());
  }
  for (const int64_t offset : offsets) {
    if (offset < 0) invalid("byte_offsets: expected at least 0, got {}", offset);
  }
  return dataset_of_files("TFRecordDataset", std::move(files),
                          [compression, offsets = std::move(offsets)](size_t i, const std::string& path) -> Pieces {
                            auto file = std::make_shared<RecordReader>(path, compression);
                            const uint64_t from = offsets.empty() ? 0 : static_cast<uint64_t>(offsets[i]);
                            return [file, from, path, begun = false](std::string& record) mutable {
                              if (!std::exchange(begun, true)) {
                                // Skip the records before it, by their lengths.
                                while (file->offset() < from && file->read(record)) {
                                }
                                if (file->offset() != from) {
                                  invalid("file '{}': expected a record at byte {}, got none", path, from);
                                }
                              }
                              return file->read(record);
                            };
                          });
}

DatasetHandle text_line_dataset(std::vector<std::string> files, Compression compression) {
  return dataset_of_files("TextLineDataset", std::move(files),
                          [compression](size_t, const std::string& path) -> Pieces {
                            return [file = std::make_shared<InputStream>(path, compression)](std::string& line) {
                              return file->read_line(line);
                            };
                          });
}

DatasetHandle fixed_length_record_dataset(std::vector<std::string> files, const FixedLengthRecords& form) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const auto expect = [=](int64_t value, std::string_view what, int64_t least) {
    if (value < least || value > kMost) invalid("{}: expected {} to {}, got {}", what, least, kMost, value);
  };
  expect(form.header_bytes, "header_bytes", 0);
  expect(form.record_bytes, "record_bytes", 1);
  expect(form.footer_bytes, "footer_bytes", 0);
  return dataset_of_files("FixedLengthRecordDataset", std::move(files),
                          [form](size_t, const std::string& path) -> Pieces {
                            return [pieces = std::make_shared<FixedLengthPieces>(path, form)](std::string& record) {
                              return pieces->next(record);
                            };
                          });
}

DatasetHandle matching_files_dataset(std::vector<std::string> patterns) {
  return simple_dataset("MatchingFilesDataset", one_string(), {},
                        {.begin = [patterns = std::move(patterns)](const DatasetValue&) -> ElementFunctionOfPass {
                          return [&patterns, paths = std::optional<std::vector<std::string>>(),
                                  at = size_t{0}](ElementTensors& element) mutable {
                            if (!paths) {
                              paths.emplace();  // set before the search, so that an error is thrown only once
                              for (const std::string& pattern : patterns) add_matching(pattern, *paths);
                              std::ranges::sort(*paths);
                            }
                            if (at == paths->size()) return false;
                            element.push_back(text_tensor(std::move((*paths)[at++])));
                            return true;
                          };
                        }});
}

}  // namespace panto::datasets
