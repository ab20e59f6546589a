// Package canon reads the fields that an object specifies. The digest, the apply body and the detection
// of drift share this reading.
//
// The canonical form of a typed value is its JSON encoding with members ordered by name, without the
// members that have no meaning:
//
//   - an object's status, and members that are null in structs, in built-in kinds and
//     in metadata; null means something in free-form content (a RawExtension, a
//     marshaler's JSON, a map of any) and in unstructured custom kinds;
//   - in structs declared in k8s.io/api and k8s.io/apimachinery: non-pointer
//     struct fields whose canonical form is {}, zero Quantity, IntOrString, Time,
//     Duration and marshaler fields, and empty maps. So an optional field that a
//     later API version adds changes nothing. A LabelSelector field without
//     omitempty stays: an empty one selects everything.
//
// Structs declared elsewhere keep the output of encoding/json: the schema of a custom kind may require an
// empty struct. Map values and list elements are never dropped, nor is a non-nil pointer to an empty
// struct. A non-nil empty list stays [] also where omitempty would drop the list: [] means "none", which is
// not the same as "no opinion".
//
// Values take the form that the API gives them: a Quantity of 1000m is "1", a
// Secret's stringData is data, a nil []byte in a map is the empty value, the
// output of a json.Marshaler is parsed and written again in order. Unstructured
// content is read as JSON, so that the typed and the unstructured form of one object may
// differ.
//
// An environment variable without value and valueFrom has the empty value. Bodies and comparisons contain
// the empty value; digests of typed objects do not, as they leave out empty text.
//
// # Numbers and strings
//
// An integer is written in full, however large. A float is written as the shortest decimal that reads
// back as the same value, without exponent if the value is integral (1e21 is 1000000000000000000000), and
// as by encoding/json otherwise; -0 is 0; NaN and infinities are errors. A number inside raw JSON is an
// integer if the text has neither point nor exponent, and a float64 otherwise.
//
// Printable ASCII is written raw. Every other rune is a \u escape up to U+FFFF
// and raw above. Bytes that are not UTF-8 are U+FFFD, as in encoding/json. Digests are computed from this
// form, and YAML turns it into the form that an API server reads.
package canon
