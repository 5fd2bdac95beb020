// Layers that change images at random during training: includes all headers of image/.
#pragma once

#include "panto/nn/layers/image/colours.h"
#include "panto/nn/layers/image/geometry.h"
#include "panto/nn/layers/image/mixing.h"
