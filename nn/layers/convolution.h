// Layers of sequences, images and volumes: convolutions, pools, padding, cropping and resizing. Includes all headers of
// convolution/.
#pragma once

#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/convolution/pooling.h"
#include "panto/nn/layers/convolution/resizing.h"
