//go:build before37

package corpus

func since37() []Entry { return nil }
