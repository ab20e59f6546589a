//go:build before36

package corpus

func since36() []Entry { return nil }
