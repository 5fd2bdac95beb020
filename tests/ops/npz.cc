#include "panto/tests/ops/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstring>
#include <memory>
#include <regex>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor_alloc.h"

namespace panto::test {
namespace {

DType numpy_type(const std::string& code) {
  static const std::map<std::string, DType> kTypes = {
      {"f2", kFloat16}, {"f4", kFloat32}, {"f8", kFloat64}, {"i1", kInt8},       {"i2", kInt16},       {"i4", kInt32},
      {"i8", kInt64},   {"u1", kUint8},   {"u2", kUint16},  {"u4", kUint32},     {"u8", kUint64},      {"b1", kBool},
      {"c8", kComplex64}, {"c16", kComplex128}};
  const auto it = kTypes.find(code);
  if (it == kTypes.end()) fail(Code::kUnimplemented, "npy: expected a known dtype, got " + code);
  return it->second;
}

Tensor strings(const Shape& shape, const char* data, size_t width) {
  std::vector<std::string> values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    std::string text(data + static_cast<size_t>(i) * width, width);
    text.erase(text.find_last_not_of('\0') + 1);
    values.push_back(std::move(text));
  }
  return tensor_from_strings(shape, std::move(values));
}

Tensor parse_npy(const std::string& name, const std::vector<char>& bytes, bool bfloat16) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY\x01", 7) != 0) {
    fail(Code::kDataLoss, name + ": expected the header of an .npy file");
  }
  const size_t length = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  const std::string header(bytes.data() + 10, length);
  std::smatch descr, dims;
  if (!std::regex_search(header, descr, std::regex("'descr': '[<|]([a-zA-Z])(\\d+)'")) ||
      !std::regex_search(header, dims, std::regex("'shape': \\(([^)]*)\\)")) ||
      header.find("'fortran_order': False") == std::string::npos) {
    fail(Code::kDataLoss, name + ": expected a C-ordered array of a plain type, got " + header);
  }
  std::vector<int64_t> sizes;
  const std::string dims_text = dims[1];
  const std::regex number("\\d+");
  for (std::sregex_iterator it(dims_text.begin(), dims_text.end(), number), end; it != end; ++it) {
    sizes.push_back(std::stoll(it->str()));
  }
  const char* data = bytes.data() + 10 + length;
  const Shape shape(sizes);
  if (descr[1] == "S") return strings(shape, data, std::stoul(descr[2]));
  const DType type = bfloat16 ? kBFloat16 : numpy_type(descr[1].str() + descr[2].str());
  const size_t size = static_cast<size_t>(shape.numel()) * dtype_size(type);
  if (bytes.size() != 10 + length + size) fail(Code::kDataLoss, name + ": expected other bytes");
  Tensor t = allocate_tensor(cpu_device(), type, shape);
  if (size > 0) std::memcpy(t.impl()->data, data, size);
  return t;
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::string& path, const std::set<std::string>& bfloat16) {
  int code = 0;
  const std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_discard);
  if (archive == nullptr) fail(Code::kNotFound, fmt::format("{}: cannot be opened (libzip error {})", path, code));
  std::map<std::string, Tensor> arrays;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0) continue;
    std::vector<char> bytes(stat.size);
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
        zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0), zip_fclose);
    if (file == nullptr || zip_fread(file.get(), bytes.data(), stat.size) != static_cast<zip_int64_t>(stat.size)) {
      fail(Code::kDataLoss, path + ": cannot be read");
    }
    std::string key = stat.name;
    if (key.ends_with(".npy")) key.resize(key.size() - 4);
    arrays[key] = parse_npy(key, bytes, bfloat16.contains(key));
  }
  return arrays;
}

}  // namespace panto::test
