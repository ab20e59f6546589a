// Package consistency opts a request out of the read-your-writes consistency that a client of controller-runtime may have
// since v0.25. An earlier client has none, and nothing to opt out of. The package goes once v0.25 is the lowest supported
// version: then client.DisableReadYourWritesConsistency does the same.
package consistency

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Off makes a read not wait until the cache shows earlier writes, and a write not be waited for by later reads.
var Off off

// IsSupported reports whether controller-runtime has this consistency.
func IsSupported() bool { return getField >= 0 }

// IsOff reports whether the options of a request, a pointer to a struct of package client, opt out.
func IsOff(options any) bool {
	field := reflect.ValueOf(options).Elem().FieldByName(fieldName)
	return field.IsValid() && field.Bool()
}

const fieldName = "DisableReadYourWritesConsistency"

// The indexes of the field in the options of each request, -1 if the linked version of controller-runtime does not have it.
var (
	getField    = fieldOf[client.GetOptions]()
	listField   = fieldOf[client.ListOptions]()
	createField = fieldOf[client.CreateOptions]()
	patchField  = fieldOf[client.PatchOptions]()
	deleteField = fieldOf[client.DeleteOptions]()
)

func fieldOf[T any]() int {
	field, ok := reflect.TypeFor[T]().FieldByName(fieldName)
	if !ok || field.Type.Kind() != reflect.Bool || len(field.Index) != 1 {
		return -1
	}
	return field.Index[0]
}

func set(options any, field int) {
	if field >= 0 {
		reflect.ValueOf(options).Elem().Field(field).SetBool(true)
	}
}

type off struct{}

func (off) ApplyToGet(o *client.GetOptions)       { set(o, getField) }
func (off) ApplyToList(o *client.ListOptions)     { set(o, listField) }
func (off) ApplyToCreate(o *client.CreateOptions) { set(o, createField) }
func (off) ApplyToPatch(o *client.PatchOptions)   { set(o, patchField) }
func (off) ApplyToDelete(o *client.DeleteOptions) { set(o, deleteField) }

func (off) ApplyToSubResourcePatch(o *client.SubResourcePatchOptions) {
	set(&o.PatchOptions, patchField)
}
