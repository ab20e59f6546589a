package ensure

// This field owner can lose fields although every value stays: somebody changes a value and changes
// the value back, or empties the managed fields. The next apply makes this field owner an owner again,
// but beside another manager, for whom the API server keeps fields that desired drops later. So a
// loss is noticed, and the fields are taken from the other manager.

// beforeFirstApply is the manager whose updates the API server says all that is there to be,
// when something is applied to an object without managed fields.
const beforeFirstApply = "before-first-apply"
