"""Scripts whose faults no rule sees, and the relations of ``stepwatch certify`` that name them."""
