// Finds the data sets that are installed with the command.
#pragma once

#include <string>

namespace panto::apps {

// Returns `asked` if it is not empty; else the folder or file `name` of the installation (<prefix>/share/panto) or of
// the source tree. Throws NotFound.
std::string find_data(const std::string& asked, const std::string& name);

}  // namespace panto::apps
