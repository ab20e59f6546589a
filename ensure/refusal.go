package ensure

// refuseCall is a refusal that is about no child in particular.
func (e *Ensurer) refuseCall(detail string) *Error { return (&target{Ensurer: e}).refuse("", detail) }
