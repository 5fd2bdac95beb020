// Images in folders, one folder per class, as Keras and torchvision read them:
//
//   flowers/daisy/1.jpg, flowers/daisy/2.jpg, flowers/rose/a.png
//
//   ImageFolder flowers = list_image_folder("flowers");   // classes: daisy, rose; labels: 0, 0, 1
//   Dataset train = Dataset::from_image_folder("flowers", {.height = 64, .width = 64}).shuffle(1000).batch(32);
//
// Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

struct ImageFolder {
  std::vector<std::string> classes;  // the names of the folders, in order
  std::vector<std::string> files;    // class by class; within a class in the order of their paths
  std::vector<int32_t> labels;       // the class number of each file
};

// Lists the files in the folders of `path`, and in their subfolders, whose names end in .png, .jpg, .jpeg, .gif or
// .bmp, in upper or lower case. Names that begin with a dot are skipped. Throws NotFound and PermissionDenied as
// read_file; InvalidArgument if `path` has no folders, or they hold no image.
PANTO_EXPORT ImageFolder list_image_folder(const std::string& path);

}  // namespace panto
