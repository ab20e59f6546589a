package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A Renderer renders objects from the manifests of a file system. Each call reads the files again,
// so that the next call uses a changed file; unchanged files are parsed once. A Renderer is safe
// for concurrent use.
type Renderer struct {
	files  fs.FS
	scheme *runtime.Scheme
	strict runtime.Decoder
	parsed sync.Map // name of a manifest to *parsed
}

// NewRenderer returns a Renderer of the manifests in files, which is often an embed.FS. scheme must
// have the kinds of the objects. For a folder that overrides embedded files, see NewFolder.
func NewRenderer(files fs.FS, scheme *runtime.Scheme) *Renderer {
	return &Renderer{files: files, scheme: scheme, strict: newStrictDecoder(scheme)}
}

// Object renders the manifest at the path name in the file system. The manifest must hold exactly
// one document, of the kind of T. Everything else is as for Objects.
func Object[T client.Object](r *Renderer, name, namespace string, data any) (T, error) {
	var object T
	if err := r.check(name); err != nil {
		return object, err
	}
	kind, err := r.kindOf(name, reflect.TypeFor[T]())
	if err != nil {
		return object, err
	}
	objects, err := r.objects(name, namespace, data, kind)
	if err != nil {
		return object, err
	}
	if len(objects) != 1 {
		return object, &Error{File: name, Problem: fmt.Sprintf("contains %d documents, but must contain one", len(objects))}
	}
	// The scheme created the object, by the kind under which T is registered.
	return objects[0].(T), nil
}

// Objects renders the manifest at the path name in the file system, with data for its actions, and
// returns the objects of its documents, in order. kinds has one object of each allowed kind; only
// the Go type matters. All objects are in namespace: a document may name that namespace or none. If
// namespace is empty, as for cluster-scoped kinds, a document must name none.
//
// The caller may change the objects, which have only the fields of the documents. Every error is an
// *Error, and no objects are returned with an error. The error does not quote values of data or of
// the manifest, or errors of the methods of data.
func (r *Renderer) Objects(name, namespace string, data any, kinds ...client.Object) ([]client.Object, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	allowed := make([]schema.GroupVersionKind, 0, len(kinds))
	for _, object := range kinds {
		kind, err := r.kindOf(name, reflect.TypeOf(object))
		if err != nil {
			return nil, err
		}
		allowed = append(allowed, kind)
	}
	return r.objects(name, namespace, data, allowed...)
}

func (r *Renderer) objects(
	name, namespace string, data any, kinds ...schema.GroupVersionKind,
) ([]client.Object, error) {
	manifest, err := r.parse(name)
	if err != nil {
		return nil, err
	}
	text, err := manifest.execute(data)
	if err != nil {
		return nil, err
	}
	documents, err := text.read()
	if err != nil {
		return nil, err
	}
	objects := make([]client.Object, len(documents))
	for i, document := range documents {
		if objects[i], err = document.decode(r.strict, kinds); err != nil {
			return nil, err
		}
		if err := document.keepIn(namespace, objects[i]); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// check returns an error if the renderer was made without files or without a scheme.
func (r *Renderer) check(name string) error {
	if r == nil || r.files == nil || r.scheme == nil {
		return &Error{File: name, Problem: "manifest.NewRenderer or NewFolder was given no files or no scheme"}
	}
	return nil
}

// kindOf returns the kind under which the scheme has a Go type.
func (r *Renderer) kindOf(name string, goType reflect.Type) (schema.GroupVersionKind, error) {
	if goType == nil || goType.Kind() != reflect.Pointer {
		return schema.GroupVersionKind{}, &Error{File: name, Problem: "the type parameter must be a pointer, such as *corev1.ConfigMap"}
	}
	object, _ := reflect.TypeAssert[client.Object](reflect.New(goType.Elem()))
	kind, err := apiutil.GVKForObject(object, r.scheme)
	if _, untyped := object.(runtime.Unstructured); err != nil || untyped {
		return kind, &Error{File: name, Problem: fmt.Sprintf("the scheme has no kind, or several, for %s", goType), cause: err}
	}
	return kind, nil
}

// parse returns the manifest with this name as it is now.
func (r *Renderer) parse(name string) (*parsed, error) {
	sources, err := r.sources(name)
	if err != nil {
		return nil, err
	}
	if known, ok := r.parsed.Load(name); ok && known.(*parsed).isOf(sources) {
		return known.(*parsed), nil
	}
	manifest, err := parseSources(sources)
	if err != nil {
		return nil, err
	}
	r.parsed.Store(name, manifest)
	return manifest, nil
}

// sources returns the manifest with this name, followed by the files that all manifests may use.
func (r *Renderer) sources(name string) ([]sourceFile, error) {
	entries, err := fs.ReadDir(r.files, ".")
	if err != nil {
		return nil, unreadable(name, err)
	}
	files := []string{name}
	for _, entry := range entries {
		if entry.Name() != name && isShared(entry) {
			files = append(files, entry.Name())
		}
	}
	sources := make([]sourceFile, len(files))
	for i, file := range files {
		text, err := fs.ReadFile(r.files, file)
		if err != nil {
			return nil, unreadable(file, err)
		}
		if sources[i], err = newSource(file, string(text)); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// isShared reports whether every manifest may use the definitions in a file.
func isShared(entry fs.DirEntry) bool {
	name := entry.Name()
	return !entry.IsDir() && strings.HasSuffix(name, sharedSuffix) && !strings.HasPrefix(name, ".")
}

// unreadable returns an error with the name of the file in the file system, not with the place where
// the folder is mounted.
func unreadable(file string, err error) *Error {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused // by a Folder
	}
	problem := err
	if underlying := (*fs.PathError)(nil); errors.As(err, &underlying) {
		problem = underlying.Err
	}
	return &Error{File: file, Problem: "cannot be read: " + problem.Error(), cause: err}
}
