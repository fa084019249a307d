package journal

// As returns the record that gives an order another state.
func (o Order) As(state OrderState) Ordered {
	record := o.Ordered
	record.State = state
	return record
}

// SpentOrders returns the records of the orders that one step used up, each order once. The state is OrderRun, or OrderUnknown if the effect of the
// step could not be determined. Step is "" if what the orders released makes no call.
func (s State) SpentOrders(keys []string, state OrderState, step string) []Body {
	var records []Body
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		spent := s.Orders[key].As(state)
		spent.Key, spent.Step = key, step
		records = append(records, spent)
	}
	return records
}

// ExpiredOrders returns the records that end the orders of which a condition holds. Why is for people; "" if the times of the order say it.
func (s State) ExpiredOrders(why string, ends func(Order) bool) []Body {
	var records []Body
	for _, o := range s.Orders {
		if ends(o) {
			expired := o.As(OrderExpired)
			expired.Why = why
			records = append(records, expired)
		}
	}
	return records
}
