#include "panto/nn/data/image_folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/dataset.h"
#include "panto/nn/data/image.h"
#include "panto/ops/image.h"

namespace panto {
namespace {

namespace fs = std::filesystem;

bool is_image(const std::string& name) {
  std::string end = fs::path(name).extension().string();
  std::ranges::transform(end, end.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::string_view kEnds[] = {".png", ".jpg", ".jpeg", ".gif", ".bmp"};
  return std::ranges::count(kEnds, end) > 0;
}

std::string below(std::string folder, const std::string& name) { return folder.append("/").append(name); }

// The names in a folder, sorted, without hidden ones.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
    throw_if_cancelled();
  }
  if (error) fail_file(error.value(), "read", folder);
  std::ranges::sort(names);
  return names;
}

// `above`: the canonical paths of the folders that contain this one, to detect links in a circle.
void add_images(const std::string& folder, int32_t label, std::vector<std::string>& above, ImageFolder& to) {
  std::error_code error;
  const std::string real = fs::canonical(folder, error).string();
  if (error) fail_file(error.value(), "read", folder);
  if (std::ranges::find(above, real) != above.end()) {
    invalid("folder '{}': expected one that is not in itself, got a link in a circle", folder);
  }
  above.push_back(real);
  for (const std::string& name : names_in(folder)) {
    const std::string path = below(folder, name);
    if (is_folder(path)) {
      add_images(path, label, above, to);
    } else if (is_image(name)) {
      to.files.push_back(path);
      to.labels.push_back(label);
    }
  }
  above.pop_back();
}

}  // namespace

ImageFolder list_image_folder(const std::string& path) {
  ImageFolder found;
  for (const std::string& name : names_in(path)) {
    if (is_folder(below(path, name))) found.classes.push_back(name);
  }
  if (found.classes.empty()) invalid("folder '{}': expected a folder for each class, got none", path);
  std::error_code ignored;
  std::vector<std::string> above = {fs::canonical(path, ignored).string()};
  for (size_t i = 0; i < found.classes.size(); ++i) {
    add_images(path + '/' + found.classes[i], static_cast<int32_t>(i), above, found);
  }
  if (found.files.empty()) invalid("folder '{}': expected images in its folders, got none", path);
  return found;
}

Dataset Dataset::from_image_folder(const std::string& folder, const ImageFolderOptions& options) {
  const bool resized = options.height != 0 || options.width != 0;
  constexpr int64_t kMaxSize = int64_t{1} << 15;
  if (resized && (options.height < 1 || options.width < 1 || options.height > kMaxSize || options.width > kMaxSize)) {
    invalid("from_image_folder: expected a height and a width from 1 to {}, got {} and {}", kMaxSize, options.height,
            options.width);
  }
  if (options.channels < 0 || options.channels > 4) {
    invalid("from_image_folder: expected 0 to 4 channels, got {}", options.channels);
  }
  const ImageFolder found = list_image_folder(folder);
  const auto load = [options, resized](const Tensor& file, const Tensor& label) {
    Tensor image = read_image(file.item<std::string>(), {.channels = options.channels});
    if (resized) {
      const Shape from = image.shape();
      const Tensor one = view_tensor(image, Shape{1, from[0], from[1], from[2]});
      const Tensor size = tensor({static_cast<int32_t>(options.height), static_cast<int32_t>(options.width)});
      image = resize_bilinear(one, size, {.half_pixel_centers = true});
      image = view_tensor(image, Shape{options.height, options.width, from[2]});
    }
    return std::pair(image, label);
  };
  return from_tensors({tensor(found.files), tensor(found.labels)})
      .map(load, {.threads = options.threads, .skip_bad = options.skip_bad, .on_bad = options.on_bad});
}

}  // namespace panto
