// Images in folders, a folder a class, as Keras and torchvision read them:
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
  std::vector<std::string> files;    // class by class; in each in the order of their paths
  std::vector<int32_t> labels;       // of the files: the numbers of their classes
};

// The files of the folders in `path`, and of folders in those, whose names end in .png, .jpg, .jpeg, .gif or .bmp,
// in upper or lower case. Names that begin with a dot are passed over. Throws NotFound and PermissionDenied as
// read_file; InvalidArgument where it has no folders, or there is no image in them.
PANTO_EXPORT ImageFolder list_image_folder(const std::string& path);

}  // namespace panto
