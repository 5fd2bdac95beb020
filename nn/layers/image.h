// Layers that change images at random, in training.
#pragma once

#include "panto/nn/layers/image/colours.h"
#include "panto/nn/layers/image/geometry.h"
#include "panto/nn/layers/image/mixing.h"
