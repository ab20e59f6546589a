package shop

import "strconv"

type till struct{ total int }

func (t *till) add(texts ...string) error {
	for _, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if n < 0 || n > 100 {
			return strconv.ErrRange
		}
		t.total += n
	}
	return nil
}

func (t till) size() string {
	switch {
	case t.total > 50:
		return "much"
	case t.total > 10:
		return "some"
	default:
		return "little"
	}
}

func never(a, b bool) int {
	if a {
		if b {
			return 1
		}
		return 2
	}
	return 3
}

func twice(a, b bool) bool {
	if ok := a; ok {
		return true
	}
	if ok := a; ok {
		return true
	} else if b {
		later := func() bool { return b }
		return later()
	}
	return false
}

func late(a bool) func() string {
	if a {
		return func() string { return `a|b` }
	}
	return nil
}
