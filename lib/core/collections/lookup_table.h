// LookupTable: what a resource tensor refers to that the ops LookupTable... fill and ask: values by keys.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

// Implemented by a back-end. Thread-safe.
class PANTO_EXPORT LookupTable : public Resource {
 public:
  struct Form {
    DType key_dtype = DType::kInvalid;
    DType value_dtype = DType::kInvalid;
    Shape value_shape = {};
    bool fixed = false;  // is given its entries once, and has those from then on
    bool dense = false;  // has two keys that are none
    Shape key_shape = {};
    bool operator==(const Form&) const = default;
  };

  LookupTable(std::string container, std::string name, Form form);
  ~LookupTable() override;

  // "HashTable", "MutableHashTable" or "MutableDenseHashTable".
  std::string_view kind() const noexcept override;
  const Form& form() const noexcept { return form_; }

  // Throw InvalidArgument for keys and values of other types or shapes. `default_value`: one, or one for each key.
  virtual Tensor find(const Tensor& keys, const Tensor& default_value) const = 0;
  // Of an entry that is there the value is changed. Throws Unimplemented for a fixed table.
  virtual void insert(const Tensor& keys, const Tensor& values) = 0;
  // The table's entries from now on. Of a fixed table once, or the same again: FailedPrecondition for others,
  // InvalidArgument for two values of a key.
  virtual void set(const Tensor& keys, const Tensor& values) = 0;
  // Keys that are not there are none to remove. Throws Unimplemented for a fixed table.
  virtual void remove(const Tensor& keys) = 0;
  // All keys, and their values.
  virtual std::pair<Tensor, Tensor> entries() const = 0;
  virtual int64_t size() const = 0;

 private:
  Form form_;
};

// The table that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<LookupTable> lookup_table_of(const Tensor& handle);

// What ops ask for must fit the table, as far as that is known. Throw InvalidArgument.
PANTO_EXPORT void expect_table_dtypes(const LookupTable::Form& form, DType key_dtype, DType value_dtype);

}  // namespace panto
